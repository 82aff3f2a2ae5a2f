import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Layer, Option, Result } from "effect"
import * as Continuation from "../../src/orchestrator/Continuation.ts"
import { Conversations } from "../../src/conversation/Conversations.ts"
import { type Conversation, Store, type Turn } from "../../src/storage/Store.ts"
import { Tenancy } from "../../src/storage/sqlite/Tenancy.ts"
import * as GivenTurn from "../cli/GivenTurn.ts"

const HERE = Ids.ConversationId.make("here")
const OTHER = Ids.ConversationId.make("other")
const NEW = Ids.ConversationId.make("new")
const turnIdOf = (id: string) => Ids.TurnId.make(id)

const turn = (id: string, isSealed: boolean, conversationId = HERE): Turn => ({
  conversationId,
  turnId: turnIdOf(id),
  prompt: "Why?",
  acceptedAt: 0,
  end: isSealed ? GivenTurn.end("completed") : undefined
})

const conversation = (conversationId: Ids.ConversationId, system?: string): Conversation => ({
  conversationId,
  createdAt: 0,
  model: "a/m",
  autoRetryEnabled: true,
  retry: undefined,
  system
})

const known = [conversation(HERE, "Be brief."), conversation(OTHER)]

/** Accepts a prompt; gives its place, or the message of its refusal. */
const accept = Effect.fnUntraced(function* (
  wanted: Partial<Continuation.Wanted>,
  turns: ReadonlyArray<Turn> = [],
  elsewhere: ReadonlyArray<string> = []
) {
  const done: Array<string> = []
  const services = Layer.mergeAll(
    Layer.mock(Conversations, {
      create: ({ system }) => Effect.sync(() => done.push(`creates with ${system}`)).pipe(Effect.as(NEW)),
      prompt: (id, { prompt, turnId }) =>
        Effect.sync(() => done.push(`prompts ${id} with ${prompt} as ${turnId}`)).pipe(
          Effect.as(turnId ?? turnIdOf("fresh"))
        )
    }),
    Layer.mock(Store, {
      turn: (id) => Effect.succeed(Option.fromUndefinedOr(turns.find(({ turnId }) => turnId === id))),
      conversation: (id) => Effect.succeed(Option.fromUndefinedOr(known.find((one) => one.conversationId === id))),
      unsealedTurnsOf: (id) =>
        Effect.succeed(
          turns
            .filter(({ conversationId, end }) => conversationId === id && end === undefined)
            .map((turn) => ({ ...turn, model: "a/m", tail: undefined, records: 0, interruption: undefined }))
        )
    }),
    Layer.succeed(Tenancy, { newTurnId: () => turnIdOf("unused"), isElsewhere: (id) => elsewhere.includes(id) })
  )
  const all = {
    prompt: "Hi",
    conversationId: undefined,
    turnId: undefined,
    system: undefined,
    model: undefined,
    ...wanted
  }
  const result = yield* Effect.result(Effect.provide(Continuation.accept(all), services))
  if (Result.isSuccess(result)) return [...done, `${result.success.conversationId} ${result.success.turnId}`]
  assert.deepStrictEqual(done, [])
  return result.failure.message
})

describe("a prompt for a turn or a conversation that may exist", () => {
  it.effect("begins a conversation if neither exists", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* accept({ system: "Be kind.", turnId: turnIdOf("t") }), [
        "creates with Be kind.",
        "prompts new with Hi as t",
        "new t"
      ])
    })
  )

  it.effect("continues an existing conversation, with the same settings or without any", () =>
    Effect.gen(function* () {
      const expected = ["prompts here with Hi as undefined", "here fresh"]
      assert.deepStrictEqual(yield* accept({ conversationId: HERE }), expected)
      assert.deepStrictEqual(yield* accept({ conversationId: HERE, system: "Be brief.", model: "a/m" }), expected)
      assert.deepStrictEqual(yield* accept({ conversationId: HERE }, [turn("before", true)]), expected)
      assert.deepStrictEqual(yield* accept({ conversationId: HERE }, [turn("theirs", false, OTHER)]), expected)
    })
  )

  it.effect("Continuation.C1: with an existing turn id goes to the turn's conversation, sealed or not", () =>
    Effect.gen(function* () {
      const expected = ["prompts here with Hi as t", "here t"]
      for (const conversationId of [undefined, HERE]) {
        assert.deepStrictEqual(yield* accept({ conversationId, turnId: turnIdOf("t") }, [turn("t", true)]), expected)
        assert.deepStrictEqual(yield* accept({ conversationId, turnId: turnIdOf("t") }, [turn("t", false)]), expected)
        // It has ended, so another unsealed turn does not matter.
        const both = [turn("t", true), turn("next", false)]
        assert.deepStrictEqual(yield* accept({ conversationId, turnId: turnIdOf("t") }, both), expected)
      }
      assert.strictEqual(
        yield* accept({ conversationId: OTHER, turnId: turnIdOf("t") }, [turn("t", true)]),
        "Turn t belongs to conversation here, not to other. Choose a new turn id."
      )
    })
  )

  it.effect("Continuation.C2: is refused behind another turn, with the process that runs that one", () =>
    Effect.gen(function* () {
      const open = [turn("next", false)]
      const nobody =
        "Turn next of conversation here has not ended, and no process runs it. Start the service, which takes it up, or give its id and its prompt again."
      assert.strictEqual(yield* accept({ conversationId: HERE }, open), nobody)
      assert.strictEqual(yield* accept({ conversationId: HERE, turnId: turnIdOf("t") }, open), nobody)
      const another =
        "Turn next of conversation here has not ended: another process runs it. Wait for its end, and try again."
      assert.strictEqual(yield* accept({ conversationId: HERE }, open, ["next"]), another)
      assert.strictEqual(yield* accept({ turnId: turnIdOf("next") }, open, ["next"]), another)
      // The first of several unsealed turns runs.
      const two = [turn("next", false), turn("t", false)]
      assert.strictEqual(yield* accept({ turnId: turnIdOf("t") }, two), nobody)
    })
  )

  it.effect("is refused if the conversation does not exist or has other settings", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* accept({ conversationId: NEW }), "There is no conversation new.")
      assert.strictEqual(
        yield* accept({ conversationId: HERE, system: "Be kind." }),
        "Conversation here has another system prompt, and it cannot be changed. Leave it out, or begin a new conversation."
      )
      assert.strictEqual(
        yield* accept({ conversationId: OTHER, system: "Be kind." }),
        "Conversation other has no system prompt, and it cannot be changed. Leave it out, or begin a new conversation."
      )
    })
  )
})

describe("a conversation that is resumed", () => {
  const resume = Effect.fnUntraced(function* (
    wanted: Parameters<typeof Continuation.resume>[0],
    elsewhere: ReadonlyArray<string> = []
  ) {
    const done: Array<string> = []
    const open = [turn("first", false), { ...turn("again", false), prompt: undefined }]
    const services = Layer.mergeAll(
      Layer.mock(Conversations, {
        prompt: (_, { prompt, turnId }) =>
          Effect.sync(() => done.push(`prompt ${prompt} ${turnId}`)).pipe(Effect.as(NEW_TURN)),
        retry: (_, { turnId }) => Effect.sync(() => done.push(`retry ${turnId}`)).pipe(Effect.as(NEW_TURN)),
        setModel: (_, model) => Effect.sync(() => void done.push(`model ${model}`))
      }),
      Layer.mock(Store, {
        conversation: (id) => Effect.succeed(Option.fromUndefinedOr(known.find((one) => one.conversationId === id))),
        prompt: (id) => Effect.succeed(open.find(({ turnId }) => turnId === id)?.prompt),
        unsealedTurnsOf: () =>
          Effect.succeed(
            open.map((turn) => ({ ...turn, model: "a/m", tail: undefined, records: 0, interruption: undefined }))
          )
      }),
      Layer.succeed(Tenancy, { newTurnId: () => NEW_TURN, isElsewhere: (id) => elsewhere.includes(id) })
    )
    const result = yield* Effect.result(Effect.provide(Continuation.resume(wanted), services))
    return Result.isSuccess(result) ? done : [...done, result.failure.message]
  })
  const NEW_TURN = turnIdOf("unused")
  const none = { system: undefined, model: undefined }

  it.effect("rule X1: has its unsealed turns again, prompts and manual retries, in their order", () =>
    Effect.gen(function* () {
      const turns = ["prompt Why? first", "retry again"]
      assert.deepStrictEqual(yield* resume({ conversationId: HERE, ...none }), turns)
      assert.deepStrictEqual(yield* resume({ conversationId: HERE, system: "Be brief.", model: "a/m" }), turns)
    })
  )

  it.effect("gets another model for its new turns, before its unsealed turns continue", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* resume({ conversationId: HERE, ...none, model: "a/other" }), [
        "model a/other",
        "prompt Why? first",
        "retry again"
      ])
    })
  )

  it.effect(
    "is refused if it does not exist, has another system prompt, or another process runs one of its turns",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* resume({ conversationId: NEW, ...none }), ["There is no conversation new."])
        assert.deepStrictEqual(yield* resume({ conversationId: HERE, ...none, system: "Be kind." }), [
          "Conversation here has another system prompt, and it cannot be changed. Leave it out, or begin a new conversation."
        ])
        assert.deepStrictEqual(yield* resume({ conversationId: HERE, ...none, model: "a/other" }, ["again"]), [
          "Turn again of conversation here has not ended: another process runs it. Wait for its end, and try again."
        ])
      })
  )
})
