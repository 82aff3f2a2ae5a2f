/**
 * Lets a turn that may take the process down run alone (X14).
 *
 * Quarantine.N1. Suspects run one at a time, in the order in which they came, each until its next record.
 * Quarantine.N2. A suspect begins when no other turn runs. It waits no longer than `PATIENCE_MS` for that: a service that is never idle
 *     would never run it.
 * Quarantine.N3. While a suspect is alone other turns wait, and no longer than `HOLD_MS`: an answer may be slow without doing harm.
 */
import { Timer } from "@holdfast/journal"
import { Clock, Context, Effect, Layer } from "effect"

/** Most answers end within this time. */
export const PATIENCE_MS = 60_000

/** An answer that exhausts the memory has done so within half of this time. */
export const HOLD_MS = 60_000

/** A turn in memory. */
export interface Stay {
  /** It has made a record: it is not alone any more. */
  readonly progressed: () => void
  /** It runs no more, or waits no more to be let in. */
  readonly leave: () => void
}

export interface QuarantineService {
  /** A turn is about to run; `enter` is called when it may, at once or later. */
  readonly come: (isSuspect: boolean, enter: () => void) => Stay
}

/** Of a process. Without a layer every turn runs at once. */
export const Quarantine = Context.Reference<QuarantineService>(
  "@holdfast/session-orchestrator/conversation/Quarantine",
  {
    defaultValue: () => ({
      come: (_isSuspect, enter) => {
        enter()
        return { progressed: () => {}, leave: () => {} }
      }
    })
  }
)

export const layer: Layer.Layer<never, never, Timer.Timer> = Layer.effect(
  Quarantine,
  Effect.gen(function* () {
    const timer = yield* Timer.Timer
    const clock = yield* Clock.Clock
    return make({ timer, now: () => clock.currentTimeMillisUnsafe() })
  })
)

export interface Dependencies {
  readonly timer: Pick<Timer.Timer["Service"], "at">
  readonly now: () => number
}

/** A quarantine that nobody is in. */
export const make = (dependencies: Dependencies): QuarantineService => {
  const ward = new Ward(dependencies)
  return { come: (isSuspect, enter) => ward.come(isSuspect, enter) }
}

// --- internal

interface Guest {
  state: "waiting" | "alone" | "among" | "gone"
  readonly enter: () => void
}

class Ward {
  private readonly dependencies: Dependencies
  private readonly suspects: Array<Guest> = []
  private readonly held = new Set<Guest>()
  private others = 0
  private alone: Guest | undefined = undefined
  private isHolding = false
  private cancel: (() => void) | undefined = undefined

  constructor(dependencies: Dependencies) {
    this.dependencies = dependencies
  }

  come(isSuspect: boolean, enter: () => void): Stay {
    const guest: Guest = { state: "waiting", enter }
    if (isSuspect) {
      this.suspects.push(guest)
      this.next()
    } else if (this.isHolding) this.held.add(guest)
    else this.join(guest)
    return { progressed: () => this.progressed(guest), leave: () => this.leave(guest) }
  }

  private join(guest: Guest): void {
    guest.state = "among"
    this.others++
    guest.enter()
  }

  private progressed(guest: Guest): void {
    if (guest.state !== "alone") return
    guest.state = "among"
    this.others++
    this.endAlone()
  }

  private leave(guest: Guest): void {
    const { state } = guest
    guest.state = "gone"
    switch (state) {
      case "waiting":
        this.held.delete(guest)
        if (this.suspects.includes(guest)) {
          if (this.suspects[0] === guest && this.alone === undefined) this.stopClock()
          this.suspects.splice(this.suspects.indexOf(guest), 1)
          this.next()
        }
        return
      case "alone":
        return this.endAlone()
      case "among":
        this.others--
        return this.next()
      case "gone":
        return
      default:
        state satisfies never
    }
  }

  /** N1, N2 */
  private next(): void {
    const [first] = this.suspects
    if (first === undefined || this.alone !== undefined) return
    if (this.others === 0) return this.admit()
    this.cancel ??= this.after(PATIENCE_MS, () => this.admit())
  }

  private admit(): void {
    this.stopClock()
    const guest = this.suspects.shift()
    if (guest === undefined) return
    guest.state = "alone"
    this.alone = guest
    this.isHolding = true
    this.cancel = this.after(HOLD_MS, () => this.release()) // N3
    guest.enter()
  }

  private endAlone(): void {
    this.stopClock()
    this.alone = undefined
    this.release()
    this.next()
  }

  private release(): void {
    this.cancel = undefined
    this.isHolding = false
    const held = Array.from(this.held)
    this.held.clear()
    for (const guest of held) this.join(guest)
  }

  private after(ms: number, act: () => void): () => void {
    const { now, timer } = this.dependencies
    return timer.at(now() + ms, act)
  }

  private stopClock(): void {
    this.cancel?.()
    this.cancel = undefined
  }
}
