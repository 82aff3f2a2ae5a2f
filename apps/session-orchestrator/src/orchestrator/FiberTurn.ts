/**
 * Runs one turn in a fiber, to its next wait or its end.
 *
 * FiberTurn.F1. A turn that was driven without a fiber continues where the driver left it (`Handover`); its refused records are written first.
 * FiberTurn.F2. A turn is counted among the running turns before it runs (`InterruptedTurns.enter`).
 */
import { JournalCheckpoint, type JournalConflict, type StorageError } from "@holdfast/journal"
import { Records, type TurnParked, type TurnStopped } from "@holdfast/kernel"
import type { TurnEvent } from "@holdfast/wire"
import { Deferred, Effect, Option } from "effect"
import * as ToolAnswers from "../conversation/ToolAnswers.ts"
import * as InterruptedTurns from "../recovery/InterruptedTurns.ts"
import type { Session } from "../session/Session.ts"
import * as TurnLife from "../session/TurnLife.ts"
import * as ContextSize from "../tokens/ContextSize.ts"
import * as Tokenizer from "../tokens/Tokenizer.ts"
import type * as Handover from "../turn/Handover.ts"
import * as MissingTools from "../turn/MissingTools.ts"
import * as Ownership from "../turn/Ownership.ts"
import * as TurnRunner from "../turn/TurnRunner.ts"
import type * as TurnServices from "../turn/TurnServices.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"

type Outcome = Effect.Effect<TurnEvent.TurnEnd, TurnParked.TurnParked | TurnStopped.TurnStopped>

/** Runs a turn. Fails with `TurnParked` when it leaves memory to wait, and with `TurnStopped` when it stops unsealed. */
export const run = (
  services: TurnServices.TurnServices,
  session: Session,
  turn: TurnLife.TurnLife,
  handover: Handover.Handover | undefined
): Outcome =>
  // What only the beginning needs is not kept while the turn runs.
  Effect.flatten(begun(services, session, turn, handover))

// --- internal

const begun = Effect.fnUntraced(function* (
  services: TurnServices.TurnServices,
  session: Session,
  turn: TurnLife.TurnLife,
  handover: Handover.Handover | undefined
): Effect.fn.Return<Outcome, TurnStopped.TurnStopped> {
  const { gates, journal, observer, spending, store, timer, tools } = services
  const { turnId } = turn
  const { arrival } = turn.state
  const patiently = services.patiently(turnId)
  if (handover?.left !== undefined) yield* written(services, handover.left, patiently) // FiberTurn.F1
  if (handover?.isEntered !== true) {
    const sealed = yield* InterruptedTurns.enter(services, session, turn)
    if (sealed !== undefined) return Effect.succeed(sealed)
  }
  const resumption =
    handover?.resumption ?? arrival?.resumption ?? Option.getOrThrow(yield* patiently(store.resumption(turnId)))
  const { conversation } = resumption
  const known =
    arrival === undefined && handover === undefined
      ? yield* patiently(journal.load(turnId))
      : // If a new turn has records all the same, its first record collides with them (`Journal.J2`).
        (handover?.known ?? [])
  const options = { persist: patiently, listener: listenerOf(turn) }
  const journaled = JournalCheckpoint.joined(journal, turnId, known, options)
  turn.wait.markTaken(JournalCheckpoint.commandIdsOf(known))
  const setting = TurnSetting.of(services, session, turn, resumption, known)
  const { history } = resumption
  turn.state.slot?.weigh(ContextSize.charactersOf(history) + ContextSize.charactersOfParts(resumption.turn.content))
  const count = setting.plan.counts ? yield* Tokenizer.load : Tokenizer.none
  const offered = conversation.tools === undefined ? tools : tools.only(conversation.tools)
  const toolbox = Ownership.toolsOf(services.ownership, conversation.conversationId, yield* offered.toolbox)
  const settled = MissingTools.settle(offered, {
    conversationId: conversation.conversationId,
    turnId,
    isFirstLife: !known.some(({ name }) => name === Records.nameOf("Attempt", 0)),
    live: (event) => session.hub.live(event),
    makeRoom: () => {
      turn.move(TurnLife.without("place"))
      turn.state.slot?.ready()
    },
    abort: Deferred.await(turn.abort)
  })
  // A call in progress has the tools that were available when it was made.
  const failure = handover?.call === undefined ? yield* settled : undefined
  return TurnRunner.run({
    ...setting,
    handover,
    session,
    life: turn,
    resumption,
    gates,
    ports: TurnSetting.portsOf(services, setting, resumption, patiently, count),
    store,
    spending,
    provider: failure === undefined ? setting.provider : MissingTools.failing(failure),
    observer,
    journaled,
    toolbox: ToolAnswers.over(toolbox, () => session.present(conversation).toolAnswers),
    sleepUntil: timer.sleepUntil
  })
})

/** Writes the records that the driver has left (TurnQueue.Q4). */
const written = (
  { journal }: TurnServices.TurnServices,
  { append: { records, seq, turnId }, outcome }: Handover.Left,
  patiently: JournalCheckpoint.Persist
): Effect.Effect<unknown, TurnStopped.TurnStopped> => {
  const [record, ...others] = records
  let refusal = outcome
  return patiently(
    Effect.suspend((): Effect.Effect<unknown, JournalConflict | StorageError> => {
      const first = refusal
      refusal = undefined
      return first ?? (record === undefined ? Effect.void : journal.append(turnId, seq, record, ...others))
    })
  )
}

/** Answers a command when its record is written, and ends the turn's replay at its first new work. */
const listenerOf = (turn: TurnLife.TurnLife): JournalCheckpoint.Listener => ({
  // Before the wait is announced: a client may send a command as soon as it sees the announcement.
  begins: (name) => turn.begins(Records.positionOf(name)?.kind === "Wake"),
  recorded: (record) => {
    InterruptedTurns.recorded(turn, record)
    const wake = Records.valueOf("Wake", record)
    if (wake === undefined) return
    turn.wait.recordedEnd(wake)
    if (wake.type === "asked") turn.move(TurnLife.without("ticket")) // it calls when a person has answered
  }
})
