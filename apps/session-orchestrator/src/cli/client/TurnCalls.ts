/** Calls about one turn, and how its state is put into words for a terminal. */
import { Ids, TurnState } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as Prose from "../../text/Prose.ts"
import { Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Refusal, ServiceClient, Unreachable } from "./ServiceClient.ts"

/** A turn's id as an argument; anything that is no id is refused before the service is asked. */
export const idOf = (text: string): Effect.Effect<Ids.TurnId, Refused> =>
  Ids.ID_PATTERN.test(text)
    ? Effect.succeed(Ids.TurnId.make(text))
    : Effect.fail(
        new Refused({
          message: `${JSON.stringify(Prose.clip(Prose.oneLine(text), 80))} is no turn's id: expected 1 to 64 letters, digits, "_" or "-".`,
          exitCode: ExitCode.USAGE
        })
      )

/** What a turn is at. */
export const read = (
  client: ServiceClient,
  turnId: Ids.TurnId
): Effect.Effect<TurnState.TurnState, Refusal | Unreachable> =>
  client.call({ path: `/v1/turns/${turnId}` }, TurnState.TurnState)

/** Ends a turn. */
export const abort = (client: ServiceClient, turnId: Ids.TurnId): Effect.Effect<void, Refusal | Unreachable> =>
  client.send({ method: "POST", path: `/v1/turns/${turnId}/abort` })

/** Whether a turn has ended. */
export const hasEnded = ({ status }: TurnState.TurnState): boolean => ENDED.has(status)

/** How a command ends that is about turns in these states. */
export const exitCodeOf = (states: ReadonlyArray<TurnState.TurnState>): ExitCode.ExitCode => {
  if (states.every(({ status }) => status === "completed")) return ExitCode.COMPLETED
  return states.some((state) => hasEnded(state) && state.status !== "completed") ? ExitCode.FAILED : ExitCode.PENDING
}

/** One line: what a turn is at, and why. */
export const inWords = ({ error, status, wait }: TurnState.TurnState): string => {
  const why =
    error === undefined ? "" : `: ${error.code === undefined ? "" : `${error.code} `}${Prose.oneLine(error.message)}`
  if (wait?.asks !== undefined) return `waiting for an answer: ${Prose.oneLine(wait.asks.message)}`
  const until = wait === undefined ? "" : ` until ${new Date(wait.retryAt).toLocaleString("sv-SE")}`
  return `${status}${until}${why}`
}

/** A turn's state as JSON on one line. */
export const inJson = (state: TurnState.TurnState): string => Prose.inJson(JSON.stringify(encode(state)))

// --- internal

const ENDED: ReadonlySet<TurnState.TurnState["status"]> = new Set(["completed", "failed", "aborted"])

const encode = Schema.encodeSync(TurnState.TurnState)
