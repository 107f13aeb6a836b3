"""The prompt room: what does the model see?"""
