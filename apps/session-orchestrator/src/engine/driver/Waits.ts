/**
 * The waits of turns in the loop (`Driver`): slept in memory, or by a turn that is parked; ended by their time, a gate or a command.
 *
 * - A wait begins with the engine's effect `Sleep` (`sleep`), and ends with one input of the engine: `Due` for its time, `Steered` for a
 *   command or an early call of the gate (`wakes`).
 * - A wait with news, an elapsed time or a command, ends at once. A wait longer than `RESIDENT_MS` parks its turn, and others sleep in
 *   memory.
 * - A parked turn that was read ahead of its time stands by: it sleeps without an alarm until it is resumed, or a command arrives.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { defined } from "@holdfast/wire"
import type { GateWait } from "../gate/Gatekeeper.ts"
import * as Gates from "../gate/Gates.ts"
import { RESIDENT_MS } from "../parking/Parking.ts"
import type { TurnLife } from "../session/TurnLife.ts"
import * as Admission from "../turn/Admission.ts"
import type { TurnServices } from "../turn/TurnServices.ts"
import type { DrivenTurn, Leaving, Sleep } from "./DrivenTurn.ts"

/** The loop that the turns are in. */
export interface Loop {
  readonly services: Pick<TurnServices, "clock" | "gates" | "timer">
  /** Acts in a later pass, on behalf of a turn. */
  readonly soon: (turn: DrivenTurn, act: () => void) => void
  readonly feed: (turn: DrivenTurn, input: Engine.Input) => void
  /** The turn leaves memory; without a wait it is still parked, and was in memory ahead of its time. */
  readonly parked: (turn: DrivenTurn, wait: Leaving | undefined) => void
}

/**
 * Begins a wait, which goes on in memory or by `loop.parked`. `starts` has its end in epoch milliseconds (`retryAt`), the most time that is left
 * (`leftMs`), the retry that it is for (`awaited`), and the tool calls that a person is asked about (`calls`).
 */
export const sleep = (loop: Loop, turn: DrivenTurn, starts: Sleep["starts"]): void => {
  const { awaited: wanted, calls, leftMs, retryAt } = starts
  const { life, session } = turn
  const { clock, gates, timer } = loop.services
  const now = clock.currentTimeMillisUnsafe()
  // After a clock was set back the end is no further away than the wait is long.
  const end = Math.min(retryAt, now + leftMs)
  const awaited = wanted && Gates.waitOf(gates, life.turnId, wanted)
  life.begins(true)
  life.wait.expect(calls)
  const { isCalled, standsBy } = life
  if (!standsBy) {
    if (life.wait.hasNews) return wakes(loop, turn, awaited)
    if (!isCalled && end - now > RESIDENT_MS) return loop.parked(turn, { retryAt: end, awaited })
  }
  // A turn that was read ahead of its time stands by until it is resumed.
  let stop = nothing
  const sleep: Sleep = { starts, awaited, stop: () => stop() }
  const wake = () => loop.soon(turn, () => turn.sleep === sleep && woken(loop, turn, sleep))
  turn.sleep = sleep
  if (!standsBy) {
    const due = () => {
      life.wait.elapse()
      wake()
    }
    const at = (end: number, act: () => void) => (end <= now ? (act(), nothing) : timer.at(end, act))
    stop = Admission.sleep(at, life, end, awaited, { due, held: (until) => session.hub.held(until) })
  }
  life.wait.whenNews(wake)
}

/** The end of a wait, or of a part of it, is on disk. */
export const recorded = (life: TurnLife, wake: RetryStrategy.Wake): void => {
  life.wait.recordedEnd(wake)
  life.without("place")
  if (wake.type === "asked") life.without("ticket") // it calls when a person has answered
}

/** The wait of a turn that is cut off is over. */
export const cutOff = (turn: DrivenTurn): void => {
  if (turn.sleep === undefined) return
  turn.sleep.stop()
  turn.sleep = undefined
  turn.life.wait.ends(resuming(turn))
  turn.life.goOn()
}

// --- internal

const woken = (loop: Loop, turn: DrivenTurn, { awaited, starts, stop }: Sleep): void => {
  const { life } = turn
  stop()
  turn.sleep = undefined
  life.goOn()
  if (life.wait.hasNews) return wakes(loop, turn, awaited)
  // It was taken up for a command that has nothing to do: it waits on.
  if (life.residence !== "parked") return sleep(loop, turn, starts)
  loop.parked(turn, undefined)
}

/** A wait, or a part of it, ends. */
const wakes = (loop: Loop, turn: DrivenTurn, awaited: GateWait | undefined): void => {
  const { life } = turn
  const wake = Admission.atGate(life.wait.take(resuming(turn)), life, awaited)
  loop.feed(
    turn,
    wake.type === "elapsed" ? { _tag: "Due", ...defined({ heldMs: wake.heldMs }) } : { _tag: "Steered", wake }
  )
}

const nothing = (): void => {}

/** The wait of a turn is not in progress any more. */
const resuming =
  ({ session: { hub } }: DrivenTurn): (() => void) =>
  () =>
    hub.inProgress.resume()
