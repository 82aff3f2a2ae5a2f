/**
 * Carries out commands on turns that wait on disk alone, without their conversations.
 *
 * StoredWaits.S1. A command is answered when its effect is on disk: its record, and with it the seal of a turn that it ends. A process that
 *     dies before has left the turn as it was. An attempt that is due by then is made after the answer: the alarm clock brings the turn into
 *     memory, here or in the next life.
 * StoredWaits.S2. A turn is steered here only while its conversation is not in memory (`StoredCommands`), and it is the turn that the alarm
 *     clock keeps. Everything else is returned: the conversation has to be in memory for it.
 * StoredWaits.S3. The same command again does nothing (rule X4).
 */
import { type JournalConflict, JournalCheckpoint, type StorageError } from "@holdfast/journal"
import { type Observer, Records } from "@holdfast/kernel"
import { WaitingTurn } from "@holdfast/kernel/host"
import { type Command, defined, type Ids } from "@holdfast/wire"
import { Clock, Effect, Option } from "effect"
import { Defaults } from "../conversation/Defaults.ts"
import { Providers } from "../conversation/Providers.ts"
import { refused } from "../conversation/TurnCommands.ts"
import * as Gates from "../gate/Gates.ts"
import * as Commands from "../orchestrator/Commands.ts"
import * as FinalReports from "../report/FinalReports.ts"
import { Journal } from "../storage/EventJournal.ts"
import { type ResumptionOutline, Store } from "../storage/Store.ts"
import * as MostRetries from "../turn/MostRetries.ts"
import * as TurnServices from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as Alarms from "./Alarms.ts"
import { LOADED, type RunnerOutcome } from "./GroupedCommands.ts"

/** A command on a turn that waits. */
export interface WaitCommand {
  readonly turnId: Ids.TurnId
  readonly command: Command.Steering | Command.Abort
}

/** The waits of this runner's conversations that are not in memory. */
export interface StoredWaits {
  /** Whether the alarm clock keeps this turn (StoredWaits.S2). */
  readonly has: (command: WaitCommand) => boolean
  /** Carries out a command; `sure` waits until this runner surely owns the conversation, which stays out of memory meanwhile. */
  readonly steer: (
    command: WaitCommand,
    origin: string,
    sure: Effect.Effect<void, StorageError>
  ) => Effect.Effect<RunnerOutcome, StorageError | JournalConflict>
}

/** The waits, over the services of the runner. */
export const make = Effect.gen(function* () {
  const store = yield* Store
  const journal = yield* Journal
  const providers = yield* Providers
  const defaults = yield* Defaults
  const gates = yield* Gates.Gates
  const alarms = yield* Alarms.Alarms
  const { observer } = yield* TurnServices.observers
  const parts: Parts = { alarms, defaults, gates, journal, observer, providers, store }
  const waits: StoredWaits = {
    has: ({ command, turnId }) => alarms.find(command.conversationId)?.turnId === turnId,
    steer: (...command) => steered(parts, ...command)
  }
  return waits
})

// --- internal

interface Parts {
  readonly alarms: Alarms.Alarms["Service"]
  readonly defaults: Defaults["Service"]
  readonly gates: Gates.Gates["Service"]
  readonly journal: Journal["Service"]
  readonly observer: Observer.Listeners | undefined
  readonly providers: Providers["Service"]
  readonly store: Pick<Store["Service"], "appendEvents" | "resumptionOutline">
}

const steered = Effect.fnUntraced(function* (
  parts: Parts,
  { command, turnId }: WaitCommand,
  origin: string,
  sure: Effect.Effect<void, StorageError>
): Effect.fn.Return<RunnerOutcome, StorageError | JournalConflict> {
  const { journal, providers, store } = parts
  const decoded =
    command.type === "abort" ? undefined : yield* Effect.result(Commands.decode(command, origin, providers))
  if (decoded?._tag === "Failure") return refused(decoded.failure)
  const wake = decoded?.success
  if (wake?.type === "answered") return LOADED
  const [outline, known] = yield* Effect.zip(store.resumptionOutline(turnId), journal.load(turnId), {
    concurrent: true
  })
  if (Option.isNone(outline)) return LOADED
  if (wake !== undefined && JournalCheckpoint.commandIdsOf(known).includes(wake.by.commandId))
    return { outcome: "done" } // StoredWaits.S3
  yield* sure
  const at = yield* Clock.currentTimeMillis
  const onDisk = { facts: factsOf(parts, outline.value), known, persisted: outline.value.persisted }
  const result = WaitingTurn.steer(onDisk, wake === undefined ? { _tag: "Abort", at } : { _tag: "Steer", wake, at })
  if (result === undefined) return LOADED
  const written = Effect.map(write(parts, command.conversationId, turnId, known.length, result), (isWritten) => {
    if (!isWritten) return LOADED
    keep(parts, command.conversationId, result, at)
    result.report(parts.observer)
    return { outcome: "done" } as const
  })
  return yield* Effect.uninterruptible(written)
})

/** A turn that is not run needs no more for its wait and its end. */
const factsOf = ({ defaults }: Parts, { conversation, turn }: ResumptionOutline): WaitingTurn.OnDisk["facts"] => {
  const policy = TurnSetting.policyOf(conversation, defaults)
  const { acceptedAt, conversationId, prompt, turnId } = turn
  return {
    conversationId,
    turnId,
    target: TurnSetting.targetOf(conversation.model),
    startedAt: acceptedAt,
    ...defined({ prompt, maxRetries: MostRetries.of(policy), report: FinalReports.make(policy) })
  }
}

/** StoredWaits.S1. Returns whether the turn was as expected; with a record, `JournalConflict` tells that it was not. */
const write = (
  { journal, store }: Parts,
  conversationId: Ids.ConversationId,
  turnId: Ids.TurnId,
  seq: number,
  { next, record }: WaitingTurn.Steered
): Effect.Effect<boolean, StorageError | JournalConflict> => {
  const stored = record && {
    name: Records.nameOf("Wake", record.wake.step, record.wake.number, record.part),
    value: JSON.stringify(record.wake.value)
  }
  if (next._tag !== "Sealed")
    return stored === undefined ? Effect.succeed(false) : Effect.as(journal.append(turnId, seq, stored), true)
  const { events, position } = next
  return stored === undefined
    ? Effect.map(
        store.appendEvents(conversationId, turnId, events, position),
        (stored) => stored.at(-1)?.event.type === "turn-end"
      )
    : Effect.as(journal.appendWith(turnId, seq, [stored], { conversationId, events, position }), true)
}

/** The alarm clock keeps what is on disk now. */
const keep = ({ alarms, gates }: Parts, id: Ids.ConversationId, { next }: WaitingTurn.Steered, now: number): void => {
  const alarm = alarms.find(id)
  if (alarm === undefined) return // its shard has gone
  const { queued, turnId } = alarm
  switch (next._tag) {
    case "Waits":
      return alarms.change(id, {
        at: next.retryAt,
        isWaiting: true,
        queued,
        ...defined({ turnId, awaited: turnId && Gates.waitOf(gates, turnId, next.awaited) })
      })
    case "Continues":
      return alarms.change(id, { at: now, isWaiting: false, isUnbegun: true, queued })
    case "Sealed":
      return alarms.change(
        id,
        queued === 0 ? undefined : { at: now, isWaiting: false, isUnbegun: true, queued: queued - 1 }
      )
    default:
      return next satisfies never
  }
}
