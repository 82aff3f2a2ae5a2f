/** Tests commands from their arrival until they are on disk. */
import { assert, describe, it } from "@effect/vitest"
import { type JournalConflict, StorageError } from "@holdfast/journal"
import { Records } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { Profile } from "@holdfast/policy"
import { type Command, Ids } from "@holdfast/wire"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { ANSWER_LIMIT } from "../../../src/engine/orchestrator/Commands.ts"
import type { Conversations } from "../../../src/engine/conversation/Conversations.ts"
import { appendsAfter, asking, waits, watching, withService, writes } from "../conversation/ConversationSetup.ts"
import * as Logged from "../../storage/Logged.ts"
import type * as It from "../../It.ts"

const { answer, emits, hangs, overloaded } = ScriptedProvider

const turnId = Ids.TurnId.make("a")

/** Delays of turns in memory and on disk alone. */
const RESIDENT = waits(2, 2)
const PARKED = waits(3_600, 3_600)

type Name = "abort-retry" | "retry-now" | "extend-budget"

interface SleepingTurn {
  readonly conversations: Conversations["Service"]
  readonly c: Ids.ConversationId
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  /** Sends a command; `wait-until` moves the end of the wait by a minute. */
  readonly steer: (type: Name | "wait-until", commandId: string) => ReturnType<Conversations["Service"]["steer"]>
  /** The commands in the turn's record, in order. */
  readonly recorded: Effect.Effect<ReadonlyArray<string | undefined>, StorageError>
  readonly stop: Effect.Effect<void>
}

/** A turn that waits; `append` decides when its disk takes the ends of waits. */
const waiting = (
  {
    append = Effect.void,
    retry = PARKED
  }: { readonly append?: Effect.Effect<void, StorageError | JournalConflict>; readonly retry?: Profile.RetrySettings },
  test: It.Body<[SleepingTurn]>
) =>
  withService(
    {
      scripts: [emits(overloaded), answer("At last")],
      retry,
      log: appendsAfter(({ records }) =>
        records.some(({ name }) => Records.positionOf(name)?.kind === "Wake") ? append : Effect.void
      )
    },
    function* ({ conversations, log, provider, stop }) {
      const conversationId = yield* conversations.create({})
      yield* conversations.prompt(conversationId, { prompt: "Hi", turnId })
      yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
      const recorded = Effect.map(log.load(turnId), commandsOf)
      const steer: SleepingTurn["steer"] = (type, id) =>
        conversations.steer(commandOf(conversationId, type, id), "a test")
      yield* Effect.gen(() => test({ conversations, c: conversationId, provider, stop, recorded, steer }))
    }
  )

/** The commands in a turn's record, in order; `undefined` where a wait ended by itself. */
const commandsOf = (records: ReadonlyArray<Records.Stored>): ReadonlyArray<string | undefined> =>
  records.flatMap((record) => {
    const wake = Records.valueOf("Wake", record)
    return wake === undefined ? [] : [wake.by?.commandId]
  })

const commandOf = (conversationId: Ids.ConversationId, type: Name | "wait-until", id: string): Command.Steering => {
  const common = { conversationId, commandId: Ids.CommandId.make(id) }
  switch (type) {
    case "wait-until":
      return { type, ...common, until: 3_660_000 }
    case "extend-budget":
      return { type, ...common, byMs: 1_000 }
    default:
      return { type, ...common }
  }
}

/** A disk that is full until it is freed. */
const full = () => {
  const disk = { isFull: true }
  const append = Effect.suspend(() =>
    disk.isFull ? Effect.fail(new StorageError({ message: "The disk is full." })) : Effect.void
  )
  return { append, free: Effect.sync(() => void (disk.isFull = false)) }
}

describe("a command", () => {
  /** The command is taken when it is sent again; after 1, 2, 4 and 8 seconds the disk is asked again. */
  const takenAgain = Effect.fnUntraced(function* (
    { conversations, recorded, steer }: SleepingTurn,
    prepare: Effect.Effect<void> = Effect.void
  ) {
    assert.deepStrictEqual(yield* recorded, [])
    const again = yield* asking(steer("retry-now", "k"))
    yield* prepare
    yield* TestClock.adjust("6 seconds")
    assert.deepStrictEqual([yield* Fiber.join(again), yield* recorded], [true, ["k"]])
    assert.strictEqual((yield* conversations.result(turnId)).end.status, "completed")
  })

  it.effect("rule X4: not recorded because the disk is full: refused in time with the reason, done later", () => {
    const disk = full()
    return waiting({ append: disk.append, retry: RESIDENT }, function* (turn) {
      const answer = yield* asking(Effect.flip(turn.steer("retry-now", "k")))
      yield* TestClock.adjust(ANSWER_LIMIT)
      const refusal = yield* Fiber.join(answer)
      assert.strictEqual(refusal._tag, "StorageError")
      assert.match(refusal.message, /not on disk after 10s\. .* not withdrawn: .*same commandId/)
      yield* takenAgain(turn, disk.free)
    })
  })

  it.effect("rule X4: not recorded because of a defect: answered with the error at once, taken when sent again", () => {
    let isBroken = true
    const append = Effect.suspend(() => {
      if (!isBroken) return Effect.void
      isBroken = false
      return Effect.die(new TypeError("boom"))
    })
    return waiting({ append, retry: RESIDENT }, function* (turn) {
      const error = yield* Effect.flip(turn.steer("retry-now", "k"))
      assert.strictEqual(error._tag, "TurnStopped")
      assert.include(error.message, "boom")
      yield* takenAgain(turn)
    })
  })

  it.effect("rule X4: sent again after its turn was released and resumed is recorded once", () =>
    withService({ scripts: [emits(overloaded)], retry: PARKED }, function* ({ conversations, held, log }) {
      const c = yield* conversations.create({})
      yield* conversations.prompt(c, { prompt: "Hi", turnId })
      yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
      const command = conversations.steer(commandOf(c, "extend-budget", "k"), "a test", turnId)
      assert.isTrue(yield* command)
      yield* held.release(c)
      yield* held.resume(c)
      assert.deepStrictEqual([yield* command, commandsOf(yield* log.load(turnId))], [true, ["k"]])
    })
  )
})

describe("a command that names no turn", () => {
  it.effect("Commands.M3: is not reported as done where the disk does not answer if an earlier turn has it", () =>
    withService(
      { scripts: [emits(overloaded), answer("one")], retry: PARKED, store: () => ({ hasCommand: () => Effect.never }) },
      function* ({ conversations, log }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
        yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
        const asked = yield* asking(Effect.flip(conversations.steer(commandOf(c, "retry-now", "k"), "a test")))
        yield* TestClock.adjust(ANSWER_LIMIT)
        const { message } = yield* Fiber.join(asked)
        assert.include(message, "It was not carried out. Send it again")
        assert.notInclude(message, "not withdrawn")
        assert.deepStrictEqual(commandsOf(yield* log.load(turnId)), [])
      }
    )
  )

  for (const [where, retry] of [
    ["in memory", RESIDENT],
    ["on disk alone", PARKED]
  ] as const) {
    it.effect(`rule X4: sent again counts as done and does nothing to the next turn, which waits ${where}`, () =>
      withService(
        { scripts: [emits(overloaded), answer("one"), emits(overloaded), answer("two")], retry },
        function* ({ conversations, provider }) {
          const c = yield* conversations.create({})
          const command = (id: string, turn?: Ids.TurnId) =>
            conversations.steer(commandOf(c, "retry-now", id), "a test", turn)
          const prompt = Effect.fnUntraced(function* (id: string) {
            const turnId = Ids.TurnId.make(id)
            yield* conversations.prompt(c, { prompt: "Hi", turnId })
            yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
          })
          yield* prompt("a")
          assert.isTrue(yield* command("k_1"))
          yield* conversations.result(turnId)
          for (const turn of [undefined, turnId])
            assert.deepStrictEqual([yield* command("k_1", turn), yield* command("k-1", turn)], [true, false])
          yield* prompt("b")
          assert.deepStrictEqual([yield* command("k_1"), provider.requests.length], [true, 3])
          assert.isTrue(yield* command("k-1"))
          assert.strictEqual((yield* conversations.result(Ids.TurnId.make("b"))).text, "two")
        }
      )
    )
  }
})

describe("an abort of a queued turn", () => {
  const [b, c3] = [Ids.TurnId.make("b"), Ids.TurnId.make("c")]

  for (const [where, retry] of [
    ["waits in memory", RESIDENT],
    ["waits on disk alone", PARKED]
  ] as const) {
    it.effect(`rule X4: behind a turn that ${where}: it is sealed at once, never runs, and is in no history`, () =>
      withService(
        { scripts: [emits(overloaded), answer("one"), answer("three")], retry },
        function* ({ conversations, log, provider, store }) {
          const c = yield* conversations.create({})
          for (const id of [turnId, b, c3]) yield* conversations.prompt(c, { prompt: `Prompt ${id}`, turnId: id })
          yield* (yield* watching(conversations.watchTurn(turnId))).until("provider-retry")
          const watcher = yield* watching(conversations.watchTurn(b))
          const caller = yield* asking(conversations.result(b))
          assert.deepStrictEqual((yield* conversations.state(c)).queued, [b, c3])
          assert.isTrue(yield* conversations.abort(c, b))
          // On disk, with the turn before it still open.
          const open = (yield* Logged.tail()).map((open) => open.turnId)
          assert.deepStrictEqual(open, [turnId, c3])
          const state = yield* conversations.state(c)
          assert.deepStrictEqual([state.status, state.turnId, state.queued], ["retrying", turnId, [c3]])
          assert.deepInclude((yield* Fiber.join(caller)).end, { status: "aborted", attempts: 0, queued: true })
          yield* watcher.until("turn-end")
          assert.deepStrictEqual([watcher.types(), yield* conversations.abort(c, b)], [["turn-end"], false])
          // Sent again it is the same turn, which has ended; and a retry is about the last turn that ran.
          assert.strictEqual(yield* conversations.prompt(c, { prompt: "Prompt b", turnId: b }), b)
          const last = (yield* store.lastTurn(c)).pipe((last) => (last._tag === "Some" ? last.value.turnId : ""))
          assert.strictEqual(last, c3)
          assert.isTrue(yield* conversations.abort(c, c3))
          assert.include((yield* Effect.flip(conversations.retry(c, {}))).message, "turn a has not ended")
          yield* TestClock.adjust("1 hour")
          assert.strictEqual((yield* conversations.result(turnId)).text, "one")
          assert.include((yield* Effect.flip(conversations.retry(c, {}))).message, "turn a was completed")
          assert.strictEqual(provider.requests.length, 2)
          assert.strictEqual((yield* log.history(c)).map(({ role }) => role).join(), "user,assistant")
          assert.strictEqual((yield* conversations.state(c)).status, "idle")
        }
      )
    )
  }
})

describe("an abort", () => {
  it.effect("rule D8: with a full disk: refused in bounded time, and ends the turn later", () => {
    const disk = full()
    const reached = Deferred.makeUnsafe<void>()
    return withService(
      {
        scripts: [hangs(reached)],
        log: appendsAfter((append) => (writes(append, "turn-end") ? disk.append : Effect.void))
      },
      function* ({ conversations }) {
        const c = yield* conversations.create({})
        yield* conversations.prompt(c, { prompt: "Hi", turnId })
        yield* Deferred.await(reached)
        const answer = yield* asking(Effect.flip(conversations.abort(c)))
        yield* TestClock.adjust(ANSWER_LIMIT)
        assert.strictEqual((yield* Fiber.join(answer))._tag, "StorageError")
        yield* disk.free
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual((yield* conversations.result(turnId)).end.status, "aborted")
      }
    )
  })
})
