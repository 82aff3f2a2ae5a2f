/** Answers commands: what they did is on disk, or the service goes down before that is known. */
import { Problem } from "@holdfast/wire/api"
import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { ShuttingDown } from "../conversation/Conversations.ts"
import type { Drain } from "../system/Drain.ts"

/** Fails what would begin a turn while the service goes down. */
export const unlessGoingDown = ({ hasBegun }: Drain["Service"]): Effect.Effect<void, ShuttingDown> =>
  Effect.flatMap(hasBegun, (hasBegun) => (hasBegun ? Effect.fail(new ShuttingDown()) : Effect.void))

/** Fails a command whose answer would come after the end of the service. */
export const unlessDown =
  (drain: Drain["Service"]) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<void, E | Problem.ShuttingDown, R> =>
    Effect.raceFirst(Effect.asVoid(call), Effect.andThen(drain.ended, Effect.fail(goingDown)))

/** The origin in the record of a command (X4). */
export const originOf = (request: HttpServerRequest.HttpServerRequest): string => `HTTP from ${addressOf(request)}`

/** The address of a client. */
export const addressOf = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(request.remoteAddress, () => "an unknown address")

/** The problem of a command that is not on disk at the end of the service. */
export const goingDown = new Problem.ShuttingDown({
  detail:
    "The command is not on disk. Send it again when the service is back, with the same commandId where it has one."
})
