"""Pictures and sound: fetched, limited, decoded and looked at, before a prompt is written."""
