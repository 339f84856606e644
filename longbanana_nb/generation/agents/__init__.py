"""Agent command lines as harnesses: installing them, driving them in a sandbox against the gateway, reading what they leave."""
