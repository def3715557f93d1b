"""The loop, alive: the environment that answers the phases of a machine with the world.

Whatever decides anything is a row of the table. Here are the performers: each does what
one phase asks for and says what came of it, as one of the phase's events. They state
facts; where a fact leads is not known here.

    loop        the driver: performs the phase the table is in, sends the event, records
    message     the conversation as values
    ports       what the loop needs of the world, as protocols
    client      the one door to the anthropic SDK
"""

__all__: list[str] = []
