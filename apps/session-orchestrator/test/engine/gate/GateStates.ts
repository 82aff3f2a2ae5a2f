/** Brings a gatekeeper into the states that a test begins with. */
import type { Failure } from "@holdfast/wire"
import type { Call, Gatekeeper } from "../../../src/engine/gate/Gatekeeper.ts"

export const overloaded: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

/** The endpoint has refused so many calls in a row that it counts as down. */
export const shut = (gatekeeper: Gatekeeper): void => {
  for (let n = 0; n < 300; n++) gatekeeper.begin(undefined).failed(overloaded)
}

/** The endpoint answers `room` calls, which go on, and has refused one more: it has no room. */
export const full = (gatekeeper: Gatekeeper, room: number): ReadonlyArray<Call> => {
  const calls = Array.from({ length: room }, () => gatekeeper.begin(undefined))
  for (const call of calls) call.answered()
  gatekeeper.begin(undefined).failed(overloaded)
  return calls
}
