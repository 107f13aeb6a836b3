"""The policy room: will we, and with what numbers?"""
