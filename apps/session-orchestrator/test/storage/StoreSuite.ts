/** Tests the laws of every `Store`, over any database. */
import { expect } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Property } from "@holdfast/kernel/testing"
import { type Ids, type Message, Prompt, type TurnEvent } from "@holdfast/wire"
import { Cause, Effect, Exit, type Layer, Option, Result, Stream } from "effect"
import * as fc from "fast-check"
import { Store } from "../../src/storage/Store.ts"
import { openingOf, promptOf, type StoredEvent, storedPrompt, type Turn } from "../../src/storage/Stored.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import type { TurnLog } from "../../src/storage/TurnLog.ts"
import * as GivenTurn from "../GivenTurn.ts"
import * as It from "../It.ts"

/** More than a store reads in one query. */
const LONG = 600

const { conversationId, turnId } = NumberedData

/** Runs the suite. Each test builds the layer again, and finds it empty; a law does so in each of its `runs`. */
export const suite = (name: string, layer: Layer.Layer<Store | TurnLog, StorageError>, runs = 30) => {
  const test = It.suite(name, layer)

  test("a conversation comes back as it was written", function* () {
    const store = yield* Store
    const plain = NumberedData.conversation(1)
    const rich = NumberedData.conversation(2, {
      system: "Be brief; never 'drop table'.",
      retry: { profile: "overnight", budget: { total: "1 hour", clip: true } },
      autoRetryEnabled: false
    })
    yield* store.createConversation(plain)
    yield* store.createConversation(rich)
    expect(yield* store.conversation(plain.conversationId)).toEqual(Option.some(plain))
    expect(yield* store.conversation(rich.conversationId)).toEqual(Option.some(rich))
    expect(yield* store.conversation(conversationId(3))).toEqual(Option.none())
  })

  test("U+0000 in the output of a model or a tool comes back unchanged, in the history and in a resumption", function* () {
    const store = yield* NumberedData.oneTurn
    const { message } = NumberedData.message(1, 1, 1)
    const said = { ...message, content: [{ type: "text" as const, text: "a\0b\\u0000" }] }
    const event = { ...NumberedData.message(1, 1, 1), message: said } as TurnEvent.MessageEvent // its role is kept
    yield* Logged.events(turnId(1), [event, NumberedData.end(1, 1)], 0)
    yield* Logged.accept(NumberedData.turn(2, 1))
    expect(yield* Logged.history(conversationId(1))).toEqual([said])
    expect(Option.getOrThrow(yield* store.resumption(turnId(2), conversationId(1))).history).toEqual([said])
    expect((yield* store.turnEvents(turnId(1))).map(({ json }) => json)[0]).toBe(JSON.stringify(event))
  })

  test("rule P15: the switch for automatic retries is stored, and switching an unknown conversation changes nothing", function* () {
    const store = yield* NumberedData.oneConversation
    yield* store.change(conversationId(1), { autoRetryEnabled: false })
    yield* store.change(conversationId(2), { autoRetryEnabled: false })
    const off = Option.some(NumberedData.conversation(1, { autoRetryEnabled: false }))
    expect(yield* store.conversation(conversationId(1))).toEqual(off)
    yield* store.change(conversationId(1), { autoRetryEnabled: true })
    expect(yield* store.conversation(conversationId(1))).toEqual(Option.some(NumberedData.conversation(1)))
  })

  test("a change of the model holds for later turns, and the turns until then keep theirs", function* () {
    const store = yield* NumberedData.oneConversation
    const { model: first } = NumberedData.conversation(1)
    yield* Logged.accept(NumberedData.turn(1, 1))
    yield* store.change(conversationId(1), { model: "other/m", modelSince: 5 })
    yield* store.change(conversationId(2), { model: "other/m", modelSince: 5 })
    yield* Logged.accept(NumberedData.turn(2, 1))
    yield* store.change(conversationId(1), { model: "third/m", modelSince: 6 })
    yield* Logged.accept(NumberedData.turn(3, 1))
    const third = Option.some(NumberedData.conversation(1, { model: "third/m", modelSince: 6 }))
    expect(yield* store.conversation(conversationId(1))).toEqual(third)
    const models = [first, "other/m", "third/m"]
    for (const [i, model] of models.entries()) {
      const { conversation, turn } = Option.getOrThrow(yield* store.resumption(turnId(i + 1), conversationId(1)))
      expect([conversation.model, turn.model ?? conversation.model]).toEqual([model, model])
    }
    expect((yield* Logged.tail()).map(({ model }) => model)).toEqual(models)
  })

  test("the same turn again is known, and a different turn with its id is a conflict", function* () {
    const store = yield* NumberedData.oneConversation
    yield* store.createConversation(NumberedData.conversation(2))
    const kept = { ...NumberedData.turn(1, 1), end: undefined }
    expect(yield* Logged.accept(NumberedData.turn(1, 1))).toEqual({ _tag: "Accepted" })
    expect(yield* Logged.accept(NumberedData.turn(1, 1, { acceptedAt: 5 }))).toEqual({ _tag: "Known", turn: kept })
    for (const other of [
      NumberedData.turn(1, 2),
      NumberedData.turn(1, 1, { prompt: "something else" }),
      NumberedData.turn(1, 1, { prompt: undefined })
    ]) {
      expect(yield* Logged.accept(other)).toEqual({ _tag: "Conflict", turn: kept })
    }
    expect(yield* store.turn(turnId(1))).toEqual(Option.some(kept))
  })

  test("a prompt with files is the same prompt again only with the same files", function* () {
    const store = yield* NumberedData.oneConversation
    const turn = NumberedData.turn(1, 1, NumberedData.withImage)
    expect(yield* Logged.accept(turn)).toEqual({ _tag: "Accepted" })
    expect((yield* Logged.accept(turn))._tag).toBe("Known")
    const [text, file] = NumberedData.withImage.content ?? []
    const other = { ...file, data: "iVBORw0KGgA=" } as Message.FilePart
    for (const change of [
      { content: [text, other] as unknown as Prompt.Parts },
      { content: undefined },
      { content: undefined, prompt: "something else" }
    ])
      expect((yield* Logged.accept({ ...turn, ...change }))._tag).toBe("Conflict")
    const whole = { ...turn, end: undefined }
    const { content: _, ...read } = whole
    expect(yield* store.turn(turn.turnId)).toEqual(Option.some(read))
    expect(Option.getOrThrow(yield* store.resumption(turn.turnId, turn.conversationId)).turn).toEqual(whole)
    expect(yield* store.prompt(turn.turnId)).toEqual(turn.content)
    expect(yield* store.prompt(turnId(9))).toBeUndefined()
  })

  test("the outline of a turn has all its events but the messages of the user and of tools", function* () {
    const store = yield* NumberedData.oneConversation
    const at = 1_760_000_000_000
    const turn = NumberedData.turn(1, 1, { ...NumberedData.withImage, acceptedAt: at })
    yield* Logged.accept(turn)
    const of = (index: number, role: string, rest: object): TurnEvent.MessageEvent => {
      const { message, ...event } = NumberedData.message(1, 1, index)
      const { id, turnId } = message
      return { ...event, message: { role, id, turnId, createdAt: at, ...rest } as Message.Message } // its callers complete it
    }
    const content = NumberedData.withImage.content ?? []
    const result = { type: "tool-result", toolCallId: "a", toolName: "look", output: "ok", content, isError: false }
    const events = [
      of(0, "user", { content }),
      NumberedData.usage(1, 1, 0),
      NumberedData.message(1, 1, 1),
      of(2, "tool", { content: [result] }),
      of(3, "user", { content: [{ type: "text", text: "Go on." }], synthetic: true }),
      NumberedData.message(1, 1, 4),
      NumberedData.end(1, 1)
    ] as const
    const stored = yield* Logged.events(turn.turnId, events, 0)
    expect(yield* store.turnEvents(turn.turnId)).toEqual(stored)
    expect(yield* store.turnDigest(turn.turnId)).toEqual(stored.filter(({ id }) => [2, 6, 7].includes(id)))
  })

  test("rule X7: that a turn was submitted is kept, from its first acceptance", function* () {
    const store = yield* NumberedData.oneConversation
    yield* Logged.accept(NumberedData.turn(1, 1, { isSubmitted: true }))
    yield* Logged.accept(NumberedData.turn(2, 1))
    const isSubmitted = (n: number) =>
      Effect.map(store.resumption(turnId(n), conversationId(1)), (found) => Option.getOrThrow(found).turn.isSubmitted)
    expect(yield* Logged.accept(NumberedData.turn(1, 1))).toMatchObject({ _tag: "Known" })
    expect([yield* isSubmitted(1), yield* isSubmitted(2)]).toEqual([true, undefined])
  })

  test("a turn is accepted with its first events, or not; the same turn again writes nothing", function* () {
    const store = yield* NumberedData.oneTurn
    yield* Logged.events(turnId(1), [NumberedData.message(1, 1, 0), NumberedData.end(1, 1)], 0)
    const opening = openingOf(NumberedData.turn(2, 1))
    const accepted = yield* Logged.accept(NumberedData.turn(2, 1), { isOpened: true })
    const stored = opening.map((event, i) => ({ id: 3 + i, event, json: JSON.stringify(event) }))
    expect(accepted).toEqual({ _tag: "Accepted", opening: stored })
    expect(yield* store.turnEvents(turnId(2))).toEqual(stored)

    const later = { acceptedAt: NumberedData.turn(2, 1).acceptedAt + 1 }
    const again = (change: Partial<Turn>) =>
      Logged.accept(NumberedData.turn(2, 1, { ...later, ...change }), { isOpened: true })
    expect((yield* again({}))._tag).toBe("Known")
    expect((yield* again({ prompt: "another" }))._tag).toBe("Conflict")
    const lost = yield* Effect.result(Logged.accept(NumberedData.turn(3, 99), { isOpened: true }))
    expect(Result.isFailure(lost)).toBe(true)
    expect(yield* store.turnEvents(turnId(2))).toEqual(stored)
    expect(yield* store.turnEvents(turnId(3))).toEqual([])
    // The events of the turn's run are stored already (W2).
    expect(yield* Logged.events(turnId(2), opening, 0)).toEqual(stored)
  })

  test("rule C1: a turn gets no first events behind one that is not sealed, which another process has accepted since", function* () {
    const store = yield* NumberedData.oneTurn
    expect(yield* Logged.accept(NumberedData.turn(2, 1), { isOpened: true })).toEqual({ _tag: "Accepted" })
    expect(yield* store.turnEvents(turnId(2))).toEqual([])
    // The second turn, aborted in the queue, does not hide that the first one runs.
    yield* Logged.events(turnId(2), [{ ...NumberedData.end(2, 1), status: "aborted", queued: true }], 0)
    expect(yield* Logged.accept(NumberedData.turn(3, 1), { isOpened: true })).toEqual({ _tag: "Accepted" })
    expect(yield* store.turnEvents(turnId(3))).toEqual([])
  })

  test("rule X3: events come back as they were written, to the byte, whatever their rows hold", function* () {
    const store = yield* NumberedData.oneConversation
    const openings = [
      { prompt: "Hi" },
      { prompt: "" },
      { prompt: '"quoted", \u{1f6f6}, line\nbreak, \\' },
      NumberedData.withImage,
      // Its events are written later, as behind another turn.
      NumberedData.withImage,
      { prompt: undefined }
    ]
    const expected: Array<Omit<StoredEvent, "event">> = []
    for (const [n, given] of openings.entries()) {
      const turn = NumberedData.turn(n, 1, given)
      const { turnId } = turn
      const opening = openingOf(turn)
      const { type, ...rest } = NumberedData.usage(n, 1, 7)
      // Its keys in another order, as another program may have written them.
      const events = [...opening.slice(1), NumberedData.message(n, 1, 1), { type, ...rest }, NumberedData.end(n, 1)]
      const isOpened = n > 0 && n !== openings.length - 2
      expect(yield* Logged.accept(turn, { isOpened })).toMatchObject({
        _tag: "Accepted",
        ...(isOpened && { opening: opening.map((event) => ({ event, json: JSON.stringify(event) })) })
      })
      const [first] = opening
      yield* Logged.events(turnId, [first, ...events], 0)
      for (const event of [first, ...events]) expected.push({ id: expected.length + 1, json: JSON.stringify(event) })
    }
    const stored = yield* all(1, 0)
    expect(stored.map(({ id, json }) => ({ id, json }))).toEqual(expected)
    expect(stored.map(({ event }) => event)).toEqual(expected.map(({ json }) => JSON.parse(json)))
    const prompts = (yield* Logged.history(conversationId(1))).filter(({ role }) => role === "user")
    expect(prompts.map(({ content }) => content)).toEqual(
      openings.flatMap((given) => {
        const prompt = promptOf(given)
        return prompt === undefined ? [] : [Prompt.partsOf(prompt)]
      })
    )
    const last = turnId(openings.length - 1)
    const resumed = Option.getOrThrow(yield* store.resumption(last, conversationId(1)))
    expect(resumed.history).toEqual((yield* Logged.history(conversationId(1))).filter(({ turnId }) => turnId !== last))
    expect(resumed.persisted).toEqual(["turn-start", "message", "usage", "turn-end"])
  })

  test("a turn's events have no gap", function* () {
    yield* NumberedData.oneTurn
    const append = (position: number) =>
      Effect.result(Logged.events(turnId(1), [NumberedData.usage(1, 1, position)], position))
    const early = yield* append(1)
    expect(Result.isFailure(early) && early.failure.message).toContain("turn turn-1 has 0 events")
    for (const position of [0, 1]) expect(Result.isSuccess(yield* append(position))).toBe(true)
    expect(yield* all(1, 0)).toHaveLength(2)
  })

  test("rule M1: a turn without a prompt is stored without one", function* () {
    const store = yield* NumberedData.oneConversation
    yield* Logged.accept(NumberedData.turn(1, 1, { prompt: undefined }))
    expect(yield* store.turn(turnId(1))).toEqual(
      Option.some({ ...NumberedData.turn(1, 1, { prompt: undefined }), end: undefined })
    )
  })

  test("the last turn and the unsealed turns come in the order of acceptance, whatever the clock showed", function* () {
    const store = yield* NumberedData.oneConversation
    yield* store.createConversation(NumberedData.conversation(2))
    expect(yield* store.lastTurn(conversationId(1))).toEqual(Option.none())
    for (const [n, of, acceptedAt] of [
      [7, 1, 900],
      [3, 2, 100],
      [5, 1, 500]
    ] as const) {
      yield* Logged.accept(NumberedData.turn(n, of, { acceptedAt }))
    }
    const idOf = Option.map((turn: { readonly turnId: Ids.TurnId }) => turn.turnId)
    expect(idOf(yield* store.lastTurn(conversationId(1)))).toEqual(Option.some(turnId(5)))
    expect((yield* Logged.tail()).map((turn) => turn.turnId)).toEqual([7, 3, 5].map(NumberedData.turnId))
    const unsealedOf = Effect.fnUntraced(function* (of: number) {
      const id = conversationId(of)
      const turns = yield* Logged.tail(id)
      expect(yield* Logged.tail((each) => each === id)).toEqual(turns)
      return turns.map((turn) => turn.turnId)
    })
    expect(yield* unsealedOf(1)).toEqual([7, 5].map(NumberedData.turnId))

    yield* Logged.events(turnId(3), [NumberedData.end(3, 2)], 0)
    expect((yield* Logged.tail()).map((turn) => turn.turnId)).toEqual([7, 5].map(NumberedData.turnId))
    expect(yield* unsealedOf(2)).toEqual([])
  })

  test("TurnLog.W3: a turn's end is stored with its event, and a second end is refused", function* () {
    const store = yield* NumberedData.oneTurn
    yield* Logged.events(turnId(1), [NumberedData.usage(1, 1, 0), NumberedData.end(1, 1)], 0)
    const late = { ...NumberedData.end(1, 1), status: "failed" as const }
    const refused = yield* Effect.exit(Logged.events(turnId(1), [late], 2))
    expect(Exit.isFailure(refused)).toBe(true)
    const sealed = Option.some({ ...NumberedData.turn(1, 1), end: NumberedData.end(1, 1) })
    expect(yield* store.turn(turnId(1))).toEqual(sealed)
    expect(yield* Logged.accept(NumberedData.turn(1, 1))).toEqual({ _tag: "Known", turn: Option.getOrThrow(sealed) })
  })

  test("a resumption has the turn, its conversation, the history without its own messages, and the types of its events", function* () {
    const store = yield* NumberedData.oneTurn
    yield* Logged.accept(NumberedData.turn(2, 1))
    const first = [
      NumberedData.message(1, 1, 0),
      NumberedData.usage(1, 1, 0),
      NumberedData.message(1, 1, 1),
      NumberedData.end(1, 1)
    ] as const
    yield* Logged.events(turnId(1), first, 0)
    yield* Logged.events(turnId(2), [NumberedData.message(2, 1, 0)], 0)
    const [one, two, none] = yield* Effect.all(
      [1, 2, 9].map((n) => store.resumption(turnId(n), conversationId(1))),
      { concurrency: "unbounded" }
    )
    expect(one).toEqual(
      Option.some({
        turn: { ...NumberedData.turn(1, 1), end: NumberedData.end(1, 1) },
        conversation: NumberedData.conversation(1),
        history: [NumberedData.message(2, 1, 0).message],
        persisted: ["message", "usage", "message", "turn-end"]
      })
    )
    expect(two).toEqual(
      Option.some({
        turn: { ...NumberedData.turn(2, 1), end: undefined },
        conversation: NumberedData.conversation(1),
        history: [NumberedData.message(1, 1, 0).message, NumberedData.message(1, 1, 1).message],
        persisted: ["message"]
      })
    )
    expect(none).toEqual(Option.none())
  })

  test("a history has long prompts, long files and long texts between short messages, in their order", function* () {
    const store = yield* NumberedData.oneConversation
    const conversationId = NumberedData.conversationId(1)
    const long = "YWJj".repeat(50_000)
    const file = { type: "file" as const, mediaType: "image/png", data: long }
    const contents: ReadonlyArray<Exclude<Prompt.Prompt, string>> = [
      [{ type: "text", text: "short" }],
      [{ type: "text", text: "with a file" }, file],
      [{ type: "text", text: `long ${long}` }],
      [{ type: "text", text: "short again" }]
    ]
    const accepted = { acceptedAt: 1_760_000_000_000 } // that of the message, as the kernel makes it
    for (const [n, content] of contents.entries()) {
      yield* Logged.accept(NumberedData.turn(n, 1, { ...storedPrompt(content), ...accepted }))
      const prompt = NumberedData.message(n, 1, 0)
      const answer = NumberedData.message(n, 1, 1)
      const said = n % 2 === 0 ? answer.message.content : [file, { type: "text", text: "seen" }]
      yield* Logged.events(
        turnId(n),
        [
          { ...prompt, message: { ...prompt.message, content } } as TurnEvent.MessageEvent, // its role is kept
          { ...answer, message: { ...answer.message, content: said } } as TurnEvent.MessageEvent,
          NumberedData.end(n, 1)
        ],
        0
      )
    }
    const messages = yield* Logged.history(conversationId)
    expect(messages).toHaveLength(8)
    expect(storedPrompt([{ type: "text", text: long }, file]).prompt).toHaveLength(4_096)
    const turn = NumberedData.turn(9, 1, storedPrompt([{ type: "text", text: "and this" }, file]))
    yield* Logged.accept(turn)
    const resume = (n: number) => store.resumption(NumberedData.turnId(n), NumberedData.conversationId(1))
    const [first, resumed] = yield* Effect.forEach([1, 9], resume, { concurrency: "unbounded" })
    expect(Option.getOrThrow(resumed ?? Option.none())).toMatchObject({ turn, history: messages })
    expect(Option.getOrThrow(first ?? Option.none())).toMatchObject({
      turn: { content: contents[1] },
      history: messages.filter(({ turnId }) => turnId !== NumberedData.turnId(1))
    })
  })

  test("TurnLog.W2: events that are written again come back with their ids, and nothing changes", function* () {
    const store = yield* NumberedData.oneTurn
    const [a, b, c] = [NumberedData.message(1, 1, 0), NumberedData.usage(1, 1, 1), NumberedData.message(1, 1, 1)]
    const first = yield* Logged.events(turnId(1), [a, b], 0)
    expect(first).toEqual([a, b].map((event, n) => ({ id: n + 1, event, json: JSON.stringify(event) })))
    expect(yield* Logged.events(turnId(1), [a, b], 0)).toEqual(first)
    // Half of it is stored: that half keeps its ids, the rest follows.
    const third = { id: 3, event: c, json: JSON.stringify(c) }
    expect(yield* Logged.events(turnId(1), [b, c], 1)).toEqual([first[1], third])
    expect(yield* store.turnEvents(turnId(1))).toEqual([...first, third])
    expect(yield* Logged.history(conversationId(1))).toHaveLength(2)
  })

  test("rule D6: a transient event that bypasses the types is refused, and nothing is stored", function* () {
    yield* NumberedData.oneTurn
    const common = { conversationId: conversationId(1), turnId: turnId(1) }
    const delta: TurnEvent.TurnEvent = { type: "text-delta", ...common, delta: "x" }
    const wait: TurnEvent.TurnEvent = GivenTurn.retry(common)
    const begun: TurnEvent.TurnEvent = { type: "step-start", ...common, step: 0, target: "simulated/steady" }
    for (const transient of [delta, wait, begun]) {
      // This line compiles only while the types refuse what follows it.
      // @ts-expect-error it is transient
      const appended = yield* Effect.exit(Logged.events(common.turnId, [transient], 0))
      expect(Exit.isFailure(appended) && Cause.pretty(appended.cause)).toContain(`${transient.type} is transient`)
    }
    expect(yield* all(1, 0)).toEqual([])
  })

  test("the deaths of the service are read from a moment on, each once", function* () {
    const store = yield* Store
    for (const foundAt of [2_000, 1_000, 2_000]) yield* store.noteDeath(foundAt)
    expect([yield* store.deaths(0), yield* store.deaths(2_000)]).toEqual([[1_000, 2_000], [2_000]])
  })

  test("rule X3: events after any id are read in order, for any number of them", function* () {
    yield* NumberedData.oneTurn
    const [first, ...rest] = Array.from({ length: LONG }, (_, step) => NumberedData.usage(1, 1, step))
    if (first === undefined) return
    const stored = yield* Logged.events(turnId(1), [first, ...rest], 0)
    expect(stored.map((event) => event.id)).toEqual(stored.map((_, index) => index + 1))
    for (const after of [0, 1, 255, 256, 257, 512, LONG - 1, LONG, LONG + 1]) {
      expect(yield* all(1, after)).toEqual(stored.slice(after))
    }
  })

  test("a refused write fails alone, with words for a person; its neighbours are written", function* () {
    const store = yield* NumberedData.oneTurn
    yield* store.createConversation(NumberedData.conversation(2))
    const append = (n: number, of: number, position: number) =>
      Effect.result(Logged.events(turnId(n), [NumberedData.usage(n, of, 0)], position))
    const results = yield* Effect.all(
      [
        append(1, 1, 0),
        append(9, 1, 0), // no such turn
        append(1, 2, 1), // not in that conversation
        append(1, 1, 2), // not the next event
        Effect.result(store.createConversation(NumberedData.conversation(2))),
        Effect.result(store.createConversation(NumberedData.conversation(3))),
        Effect.result(Logged.accept(NumberedData.turn(4, 99))),
        Effect.result(Logged.accept(NumberedData.turn(5, 1)))
      ],
      { concurrency: "unbounded" }
    )
    expect(results.map(({ _tag }) => _tag === "Failure")).toEqual([false, true, true, true, true, false, true, false])
    expect(results.flatMap((result) => (result._tag === "Failure" ? [result.failure.message] : []))).toEqual([
      expect.stringContaining("Could not record the events of turn turn-9"),
      expect.stringMatching(/^Could not record the events of turn turn-1 .*has no turn/),
      expect.stringContaining("turn turn-1 has 1 events, and this would be its event 3"),
      expect.stringContaining("Could not create conversation conversation-2"),
      expect.stringContaining("Could not record turn turn-4")
    ])
    expect((yield* all(1, 0)).map((event) => event.id)).toEqual([1])
    expect(Option.isSome(yield* store.conversation(conversationId(3)))).toBe(true)
    expect(Option.isSome(yield* store.turn(turnId(5)))).toBe(true)
  })

  Property.prop(
    `${name}: X3: when many turns write at once, ids have no gap and every turn keeps its order`,
    histories,
    (histories) =>
      Effect.gen(function* () {
        const store = yield* Store
        const returned = yield* writeAll(store, histories)
        for (const of of CONVERSATIONS) {
          const events = yield* all(of, 0)
          expect(events.map((event) => event.id)).toEqual(events.map((_, index) => index + 1))
          expect(events).toEqual(returned.filter(({ event }) => event.conversationId === conversationId(of)).sort(byId))
        }
        for (const [n, history] of histories.entries()) {
          const steps = (yield* store.turnEvents(turnId(n))).map(({ event }) =>
            event.type === "usage" ? event.step : -1
          )
          expect(steps).toEqual(Array.from({ length: sizeOf(history) }, (_, step) => step))
        }
      }).pipe(Effect.provide(layer)),
    { numRuns: runs }
  )
}

// --- internal

type StoreService = Store["Service"]

const CONVERSATIONS = [0, 1]

/** Turns, each a list of appends: the number of events, whether it is written twice, and how often its fiber yields before. */
const histories = fc.array(
  fc.array(fc.record({ events: fc.integer({ min: 1, max: 4 }), twice: fc.boolean(), pauses: fc.nat({ max: 3 }) }), {
    maxLength: 6
  }),
  { minLength: 1, maxLength: 8 }
)
type History = ReadonlyArray<{ readonly events: number; readonly twice: boolean; readonly pauses: number }>

const sizeOf = (history: History): number => history.reduce((sum, { events }) => sum + events, 0)

/** Writes every turn from its own fiber; returns each stored event once. */
const writeAll = Effect.fnUntraced(function* (store: StoreService, histories: ReadonlyArray<History>) {
  for (const of of CONVERSATIONS) yield* store.createConversation(NumberedData.conversation(of))
  const returned = yield* Effect.forEach(
    histories,
    (history, n) =>
      Effect.gen(function* () {
        const of = n % CONVERSATIONS.length
        const stored: Array<StoredEvent> = []
        let position = 0
        yield* Logged.accept(NumberedData.turn(n, of))
        for (const { events, pauses, twice } of history) {
          const [first, ...rest] = Array.from({ length: events }, (_, i) => NumberedData.usage(n, of, position + i))
          if (first === undefined) continue
          yield* Effect.repeat(Effect.yieldNow, { times: pauses })
          const append = Logged.events(turnId(n), [first, ...rest], position)
          const [once, again] = yield* Effect.all([append, twice ? append : Effect.succeed(undefined)], {
            concurrency: "unbounded"
          })
          if (again !== undefined) expect(again).toEqual(once)
          stored.push(...once)
          position += events
        }
        return stored
      }),
    { concurrency: "unbounded" }
  )
  return returned.flat()
})

const byId = (a: StoredEvent, b: StoredEvent): number => a.id - b.id

const all = (of: number, after: number) => Stream.runCollect(Logged.after(conversationId(of), after))
