"""Sentences that mean nearly the same in pairs, and questions with texts of which the first answers them."""

from __future__ import annotations

PAIRS = tuple(
    tuple(line.split(" | "))
    for line in """\
The cat sat on the mat. | A feline was resting on a rug.
The train was two hours late. | Our train arrived with a long delay.
She bakes bread every Sunday. | On Sundays she makes her own loaves.
The stock market fell sharply. | Share prices dropped a lot today.
He broke his leg while skiing. | A skiing accident left him with a fractured leg.
The museum is closed on Mondays. | You cannot visit the museum on Monday.
Water boils at one hundred degrees. | The boiling point of water is 100 degrees Celsius.
The children are playing football. | Kids are kicking a ball around on the field.
I forgot my password. | I cannot remember how to log in.
The film won three awards. | Three prizes went to the movie.
A storm damaged many roofs. | Strong winds tore tiles off the houses.
She speaks four languages. | Four languages are spoken fluently by her.
The bridge was built in 1890. | Construction of the bridge was finished at the end of the nineteenth century.
My phone's battery is empty. | The phone has no charge left.
They married last summer. | Their wedding was in the summer of last year.
The soup is too salty. | There is far too much salt in this soup.
Bees make honey. | Honey is produced by bees.
The company dismissed fifty workers. | Fifty employees of the firm lost their jobs.
He is afraid of spiders. | Spiders frighten him.
The river flooded the village. | After the rain the village stood under water.
The lecture was boring. | I nearly fell asleep during the talk.
A vaccine against malaria was approved. | Regulators allowed a new malaria vaccine.
The car needs new tyres. | The tyres of this car are worn out.
Venus is the hottest planet. | No planet is hotter than Venus.
She plays the violin in an orchestra. | She is a violinist and plays with other musicians.
The shop opens at nine. | You can buy things there from nine o'clock.
He quit smoking a year ago. | He has not touched a cigarette for twelve months.
The election was very close. | Both candidates had almost the same number of votes.
Our dog loves long walks. | Walking for hours makes our dog happy.
The recipe needs two eggs. | You need a pair of eggs for this dish.
Glaciers are melting faster. | The ice of mountains disappears more and more quickly.
I would like to cancel my order. | Please do not send me what I have ordered.
The baby has slept all night. | The infant did not wake up until the morning.
Rust is caused by oxygen and water. | Iron corrodes when it is wet and in contact with air.
The flight to Madrid is cancelled. | There will be no plane to Madrid today.
He writes novels about pirates. | His books tell stories of buccaneers.
The exam was harder than expected. | Nobody had thought that the test would be so difficult.
Trees lose their leaves in autumn. | In the fall leaves drop from the branches.
The thief escaped through the window. | Whoever stole it fled by climbing out of a window.
The king died without an heir. | When the monarch died there was no successor.
Solar panels turn light into electricity. | Photovoltaic cells produce power from sunshine.
She lost her keys in the park. | Her keys are somewhere in the park.
The restaurant serves vegan food. | You can eat without any animal products there.
Traffic was heavy this morning. | There were long jams on the roads early today.
The patient has a high fever. | The temperature of the sick man is far too high.
The battle lasted three days. | They fought for seventy-two hours.
He repaired the old clock. | The broken clock was mended by him.
Penguins cannot fly. | Penguins are birds that are unable to fly.
The software has a security hole. | Attackers can exploit a flaw in the program.
The concert is sold out. | There are no tickets left for the concert.""".splitlines()
)

_QUESTIONS = """\
How many people live in Berlin?
Berlin has a population of about 3.7 million inhabitants.
Berlin is known for its museums and its night life.
The recipe needs two eggs and some flour.

What is the capital of France?
Paris is the capital and largest city of France.
France is known for wine and cheese.
Glaciers are melting faster every year.

Who wrote Romeo and Juliet?
Romeo and Juliet is a tragedy by William Shakespeare.
The play was filmed many times.
Rust is caused by oxygen and water.

How do bees make honey?
Bees turn nectar into honey by drying it in the combs of the hive.
Honey keeps for many years.
The train to Madrid was late.

What causes rust?
Iron rusts when it reacts with oxygen and water.
Cars are often painted red.
The concert is sold out.

When was the Eiffel Tower built?
The Eiffel Tower was built between 1887 and 1889.
The Eiffel Tower is painted every seven years.
Penguins live in the south.

How tall is Mount Everest?
Mount Everest is 8,849 metres high.
Mount Everest was first climbed in 1953.
A cat slept on the sofa.

What is photosynthesis?
Photosynthesis is how plants turn light, water and carbon dioxide into sugar.
Plants grow well in spring.
The stock market fell sharply.

How long does it take to boil an egg?
A hard-boiled egg takes about ten minutes in boiling water.
Eggs are laid by hens.
The king died without an heir.

Which planet is the hottest?
Venus is the hottest planet, with about 465 degrees Celsius.
Mars is called the red planet.
The thief escaped through the window.

Who painted the Mona Lisa?
Leonardo da Vinci painted the Mona Lisa.
The Mona Lisa hangs in the Louvre.
Bread is made of flour.

How can I reset my password?
To reset your password, click on the link below the login form.
A good password is long.
The river flooded the village.

What is the speed of light?
Light travels at 299,792 kilometres per second.
Light bulbs come in many colours.
He plays the violin.

How do vaccines work?
A vaccine trains the immune system to recognise a germ.
The vaccine was approved last year.
The bridge was closed.

What do pandas eat?
Pandas eat almost nothing but bamboo.
Pandas live in China.
The film won three awards.

Who was the first person on the Moon?
Neil Armstrong was the first person to walk on the Moon.
The Moon orbits the Earth.
Our dog loves long walks.

How is glass made?
Glass is made by melting sand together with soda and lime.
Glass can be recycled.
The exam was hard.

What is the largest ocean?
The Pacific is the largest ocean on Earth.
Ships cross the ocean.
She speaks four languages.

Why do leaves change colour in autumn?
In autumn leaves lose their green chlorophyll, and other colours show.
Trees are cut for wood.
The phone has no charge left.

How do I change a flat tyre?
To change a flat tyre, loosen the nuts, lift the car, and put on the spare wheel.
Tyres are made of rubber.
The soup is too salty."""

QUESTIONS = tuple((block[0], tuple(block[1:])) for block in map(str.splitlines, _QUESTIONS.split("\n\n")))
