"""The parts of generate.py: synthetic pictures, four small networks, and their goldens."""
