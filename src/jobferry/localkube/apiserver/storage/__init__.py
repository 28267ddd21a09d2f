"""Where the API server keeps its objects: a log of revisions, in memory for reads, durable in SQLite.

Belongs here: keys, bytes, revisions, compare-and-swap, ranges, watches, and how they survive a crash.
Does not: what an object means, who may see it, selectors, anything of HTTP.

    store      `Storage` and `open_storage`: the whole
    reader     what everybody may use of it; whoever writes goes through the server's one door
    following  hearing of changes inside the server
    entry      what is stored, and what happened to it
    errors     what can go wrong
    state      what is visible, and the window of history behind it
    watch      who is told of changes
    accepted   how revisions are given out, and what has one but is not durable yet
    journal    what makes writes durable, as the store sees it
    writer     what commits, many writes at a time: a thread, or nobody else in a simulation
    database   the SQLite file

How a write goes: `Storage.put` compares with the newest accepted state, gives the write a revision and
puts it in line, all without waiting. The writer's thread commits whatever is in line at once. Back on
the event loop, the write is made visible, watchers are told, and whoever sent it goes on.

Who sees what:

- Readers and watchers (`get`, `range`, `watch`) see what is durable, and nothing else.
- Writers compare with, and build on, what is accepted (`accepted`, `accepted_below`): else two writes
  of the same moment could not both succeed. Writes become durable in the order in which they were
  accepted, and a commit that fails takes all later ones with it. So a write that is acknowledged rests
  on durable state, whatever it was built on.
- An answer that is no write but was found by looking at what is accepted (a refusal, a change that
  changes nothing) has to wait for `settled` before it is given; the door and the routing see to it.
- What watchers do when they are told cannot reach the writer: what they raise is logged and ends their
  watch, and who does not take changes in time is cut off.

`snapshot` returns all of it as values, and `open_storage(None, contents=…)` goes on from there: a
simulation can be forked. `settled`, or an `Execution` that works inline, lets a test know when all that
was written has happened.

Never is a revision used twice. The file holds a ceiling, raised in large steps long before it is
reached, and no number above it is given out. Whoever opens the file after a crash goes on above the
ceiling: it need not know which numbers were given to writes that did not survive. A commit that fails
takes with it everything accepted and not durable; their numbers are left out. (Where the disk failed in
the very moment of a commit and the process dies before the next one, SQLite may find that commit whole
after all; its writes then appear with the numbers they had, as changes that nobody has seen before.)
"""
