// Asks the server at argv[2] what argv[3] names, and prints what came of it as one line of JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none", maxRetries: 4, timeout: 60_000 });
const messages = [{ role: "user", content: "What is 2+2?" }];
const model = "a";

const scenes = {
  async chat() {
    const whole = await client.chat.completions.create({ model, messages });
    const streamed = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
    return [whole.choices[0].message.content, streamed.choices[0].message.content];
  },
  async completions() {
    const whole = await client.completions.create({ model, prompt: "One" });
    let text = "";
    for await (const chunk of await client.completions.create({ model, prompt: "One", stream: true })) {
      text += chunk.choices[0]?.text ?? "";
    }
    return [whole.choices[0].text, text];
  },
  async responses() {
    const whole = await client.responses.create({ model, input: "Count." });
    const streamed = await client.responses.stream({ model, input: "Count." }).finalResponse();
    return [whole.output_text, streamed.output_text];
  },
  async refused() {
    return caught(() => client.chat.completions.create({ model, messages, best_of: 3 }));
  },
  async broken() {
    return caught(async () => {
      for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) void chunk;
    });
  },
  async waited() {
    return (await client.chat.completions.create({ model, messages })).choices[0].message.content;
  },
};

async function caught(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return { name: error.constructor.name, status: error.status, param: error.param, message: error.message };
  }
}

console.log(JSON.stringify(await scenes[process.argv[3]]()));
