/** Tests commands for held calls whose client is at another runner. */
import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import * as HeldCommands from "../../src/cluster/HeldCommands.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"
import type { Turn } from "../../src/storage/Store.ts"
import * as NumberedData from "../storage/NumberedData.ts"

const conversationId = HeldCallIds.make("k".repeat(HeldCallIds.KEY_LENGTH), 0, "one")
const turnId = HeldCallIds.turnOf(conversationId)
const at = Ids.ConversationId.make("in-a-shard-of-that-runner")
const command = { type: "retry-now", conversationId, commandId: Ids.CommandId.make("k") } as const

const waiting: Turn = { ...NumberedData.turn(1, 1), conversationId, turnId, end: undefined }
const ended: Turn = { ...waiting, end: NumberedData.end(1, 1) }

/** Runners that answer one after the other, and what was sent to them. */
const runners = (outcomes: ReadonlyArray<HeldCommands.HeldOutcome | "unclaimed">, turn: Turn | undefined = waiting) => {
  const sent: Array<unknown> = []
  let looks = 0
  const senders: HeldCommands.Senders = {
    store: { turn: (id) => Effect.sync(() => Option.fromUndefinedOr(id === turnId ? turn : undefined)) },
    locate: () => Effect.sync(() => (outcomes[looks] === "unclaimed" ? void looks++ : at)),
    toRunner: (...message) =>
      Effect.sync(() => {
        sent.push(message)
        const outcome = outcomes[looks++] ?? "elsewhere"
        return outcome === "unclaimed" ? "elsewhere" : outcome
      })
  }
  return { senders, sent }
}

const send = (
  { senders }: ReturnType<typeof runners>,
  more: Partial<HeldCommands.Sent> = {},
  unattached?: Parameters<typeof HeldCommands.send>[2]
) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(
      HeldCommands.send(senders, { command, origin: "a test", ...more }, unattached),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

describe("a command for a held call whose client is elsewhere", () => {
  it.effect("C1: is carried out by the runner that has the client", () =>
    Effect.gen(function* () {
      const there = runners(["done"])
      assert.isTrue(yield* send(there))
      assert.deepStrictEqual(there.sent, [[at, command, "a test"]])
      assert.isFalse(yield* send(runners(["idle"])))
    })
  )

  it.effect("C2: follows a client that goes to another runner, and shards that move", () =>
    Effect.gen(function* () {
      const moving = runners(["unclaimed", "elsewhere", "unclaimed", "done"])
      assert.isTrue(yield* send(moving))
      // It has the same id each time.
      assert.deepStrictEqual(moving.sent, [
        [at, command, "a test"],
        [at, command, "a test"]
      ])
    })
  )

  it.effect("C3: is refused where no runner has the client, with what to do", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(send(runners([])))
      assert.match(message, /was not carried out.* Send the command again/)
    })
  )

  it.effect("C3: aborts the turn on disk where no runner has the client", () =>
    Effect.gen(function* () {
      const abort = { type: "abort", conversationId } as const
      const there = runners(["done"])
      assert.isTrue(yield* send(there, { command: abort }, Effect.die("not on disk")))
      assert.isTrue(yield* send(runners([]), { command: abort }, Effect.succeed(true)))
    })
  )

  it.effect("does nothing to a turn that has ended, and to no other turn; an unknown call is named", () =>
    Effect.gen(function* () {
      const over = runners(["done"], ended)
      assert.isFalse(yield* send(over))
      const other = runners(["done"])
      assert.isFalse(yield* send(other, { meant: Ids.TurnId.make("another") }))
      assert.deepStrictEqual([over.sent, other.sent], [[], []])
      const unknown = runners([], ended)
      const senders = { ...unknown.senders, store: { turn: () => Effect.succeedNone } }
      assert.strictEqual((yield* Effect.flip(send({ ...unknown, senders })))._tag, "ConversationNotFound")
    })
  )

  it.effect("C2: is returned by a runner without the client", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* HeldCommands.carryOut(() => undefined, command, "a test"), "elsewhere")
    })
  )
})
