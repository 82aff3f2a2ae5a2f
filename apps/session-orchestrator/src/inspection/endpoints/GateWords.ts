/** Describes in words which turns a gate lets through. Pure. */
import type { GateView } from "../../gate/Gatekeeper.ts"

/** One or two sentences. */
export const of = ({ held, phase, room, waiting }: Pick<GateView, "phase" | "waiting" | "held" | "room">): string => {
  switch (phase) {
    case "open":
      return waiting === 0 ? "Every turn may call." : `Every turn may call. ${waits(waiting)} for a time of its own.`
    case "shut":
      return waiting === 0
        ? "No turn waits. A new turn calls as usual."
        : `${waits(waiting)}${heldOf(held)}. A few are let through, to find out whether the endpoint answers.`
    case "ramp":
      return `It answers again: up to ${counted(room, "retry", "retries")} at once are let through, and more with each answer.${
        waiting === 0 ? "" : ` ${waits(waiting)}${heldOf(held)}.`
      }`
    default:
      return phase satisfies never
  }
}

// --- internal

const counted = (count: number, one: string, more: string): string => `${count} ${count === 1 ? one : more}`

const waits = (waiting: number): string => (waiting === 1 ? "1 turn waits" : `${waiting} turns wait`)

const heldOf = (held: number): string => (held === 0 ? "" : `, ${held} of them after the end of their wait`)
