"""The omni room: what may a model ask the other models of this server before it answers?"""
