import { StorageError } from "@holdfast/journal"
import { describe, expect, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Scope } from "effect"
import { WriteClaims } from "../../src/cluster/WriteClaims.ts"
import * as GroupedCommands from "../../src/cluster/GroupedCommands.ts"
import type { TurnCommand } from "../../src/conversation/TurnCommands.ts"

const commandFor = (n: number, type: "abort-retry" | "retry-now" = "abort-retry"): TurnCommand => ({
  turnId: Ids.TurnId.make(`t${n}`),
  command: { type, conversationId: Ids.ConversationId.make(`c${n}`) }
})

const answerFor = (n: number): TurnCommand => ({
  turnId: Ids.TurnId.make(`t${n}`),
  command: { type: "answer-tool", conversationId: Ids.ConversationId.make(`c${n}`), toolCallId: "call", approve: true }
})

/** Runners by the numbers of the conversations that they own; others are loaded at their owner. */
const send = (owners: ReadonlyArray<ReadonlyArray<number>>, commands: ReadonlyArray<TurnCommand>, loaded = [-1]) => {
  const messages: Array<ReadonlyArray<string>> = []
  const alone: Array<string> = []
  const numberOf = (id: string) => Number(id.slice(1))
  const outcomes = GroupedCommands.run(
    {
      toOwner: (id, group) => {
        messages.push(group.map(({ turnId }) => turnId))
        const owner = owners.find((ids) => ids.includes(numberOf(id)))
        if (owner === undefined) return Effect.fail(new StorageError({ message: "no runner" }))
        return Effect.succeed(
          group.map(({ command }): GroupedCommands.RunnerOutcome => {
            const number = numberOf(command.conversationId)
            if (!owner.includes(number)) return { outcome: "elsewhere" }
            return { outcome: loaded.includes(number) ? "loaded" : "done" }
          })
        )
      },
      alone: (group) => {
        alone.push(...group.map(({ turnId }) => turnId))
        return Effect.succeed(group.map(() => ({ outcome: "idle" })))
      }
    },
    commands
  )
  return Effect.map(outcomes, (outcomes) => ({ messages, alone, outcomes: outcomes.map(({ outcome }) => outcome) }))
}

describe("commands for many turns", () => {
  it.effect("rule X6: each runner gets one message, and each turn has its own outcome", () =>
    Effect.gen(function* () {
      const commands = [1, 2, 3, 4, 5].map((n) => commandFor(n))
      const { alone, messages, outcomes } = yield* send([[2, 4], [1, 5], [3]], commands, [4])
      expect(messages).toEqual([["t1", "t2", "t3", "t4", "t5"], ["t2", "t3", "t4"], ["t3"]])
      expect(alone).toEqual(["t4"])
      expect(outcomes).toEqual(["done", "done", "done", "idle", "done"])
    })
  )

  it.effect(
    "rule X4: an answer about a tool call goes to its conversation; an attempt that is due now is ordered on disk",
    () =>
      Effect.gen(function* () {
        const { alone, messages } = yield* send([[1, 2, 3]], [answerFor(1), commandFor(2), commandFor(3, "retry-now")])
        expect([messages, alone]).toEqual([[["t2", "t3"]], ["t1"]])
      })
  )

  it.effect("rule X6: a turn that moves while its owner is asked goes to its conversation", () =>
    Effect.gen(function* () {
      const { alone, outcomes } = yield* Effect.map(
        GroupedCommands.run(
          {
            toOwner: (_id, group) => Effect.succeed(group.map(() => ({ outcome: "elsewhere" }) as const)),
            alone: (group) => Effect.succeed(group.map(() => ({ outcome: "done" }) as const))
          },
          [commandFor(1), commandFor(2)]
        ),
        (outcomes) => ({ alone: [], outcomes })
      )
      expect(alone).toEqual([])
      expect(outcomes).toEqual([{ outcome: "done" }, { outcome: "done" }])
    })
  )

  it.effect("without a runner each turn is refused with the reason", () =>
    Effect.gen(function* () {
      expect((yield* send([], [commandFor(1), commandFor(2)])).outcomes).toEqual(["refused", "refused"])
    })
  )
})

describe("WriteClaims", () => {
  const id = Ids.ConversationId.make("c1")

  it.effect("WriteClaims.L1: a conversation comes into memory when the command is on disk", () =>
    Effect.gen(function* () {
      const claims = new WriteClaims()
      const claim = claims.steer(id)
      expect(claim).toBeDefined()
      expect(claims.steer(id)).toBeUndefined()
      const entered = Deferred.makeUnsafe<void>()
      const resident = yield* Effect.forkChild(
        Effect.scoped(Effect.andThen(claims.enter(id), Deferred.succeed(entered, undefined))),
        { startImmediately: true }
      )
      expect(Deferred.isDoneUnsafe(entered)).toBe(false)
      claim?.release()
      yield* Fiber.join(resident)
      expect(Deferred.isDoneUnsafe(entered)).toBe(true)
    })
  )

  it.effect("WriteClaims.L2: in memory, and while two residents overlap, no command is written without it", () =>
    Effect.gen(function* () {
      const claims = new WriteClaims()
      const [first, second] = [yield* Scope.make(), yield* Scope.make()]
      yield* Scope.provide(claims.enter(id), first)
      yield* Scope.provide(claims.enter(id), second)
      yield* Scope.close(first, yield* Effect.exit(Effect.void))
      expect(claims.steer(id)).toBeUndefined()
      yield* Scope.close(second, yield* Effect.exit(Effect.void))
      expect(claims.steer(id)).toBeDefined()
    })
  )
})
