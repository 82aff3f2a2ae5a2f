/** What the handlers of commands share: limits before a turn, the origin of a command, and the end of the service before its effect is on disk. */
import { Timer } from "@holdfast/journal"
import { Problem } from "@holdfast/wire/api"
import { Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Config } from "../config/Config.ts"
import { InvalidRequest, ShuttingDown } from "../engine/conversation/Conversations.ts"
import { Drain } from "../base/system/Drain.ts"
import { FilePart, type Prompt } from "@holdfast/wire"
import * as Posting from "../ops/delivery/Posting.ts"

/** The gates of a group of handlers. */
export const gates = Effect.gen(function* () {
  const drain = yield* Drain
  const { server, webhooks } = yield* Config
  return {
    drain,
    at: (yield* Timer.Timer).at,
    /** Fails what would begin a turn while the service goes down. */
    unlessGoingDown: Effect.flatMap(drain.hasBegun, (hasBegun): Effect.Effect<void, ShuttingDown> =>
      hasBegun ? new ShuttingDown() : Effect.void
    ),
    /** Fails a command whose answer would come after the end of the service. */
    unlessDown: <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | Problem.ShuttingDown, R> =>
      Effect.raceFirst(call, Effect.andThen(drain.ended, Effect.fail(goingDown))),
    /** Fails if a turn's end cannot go to the address that a client names for it (rule X15). */
    checkWebhook: (address: string | undefined): Effect.Effect<void, InvalidRequest> => {
      const refusal = address === undefined ? undefined : webhookRefusal(address, webhooks !== undefined)
      return refusal === undefined ? Effect.void : Effect.fail(new InvalidRequest({ message: `webhook: ${refusal}.` }))
    },
    /** Fails if a file of the prompt is above the limit. */
    checkFiles: (prompt: Prompt.Prompt) => checkFiles(prompt, server.maxFileBytes)
  }
})

/** The origin in the record of a command (X4). */
export const originOf = (request: HttpServerRequest.HttpServerRequest): string => `HTTP from ${addressOf(request)}`

/** The address of a client. */
export const addressOf = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(request.remoteAddress, () => "an unknown address")

// --- internal

/** Characters of an address. */
const LONGEST = 2_000

/** Without a secret there is no receiver: a message that is not signed could be anyone's. */
const webhookRefusal = (address: string, hasSecret: boolean): string | undefined => {
  if (!hasSecret) return "this service has no webhooks.secret to sign messages with"
  if (address.length > LONGEST) return `found ${address.length} characters; expected ${LONGEST} at most`
  return Posting.refusalOf(address)
}

/** A command is not on disk at the end of the service. */
const goingDown = new Problem.ShuttingDown({
  detail:
    "The command is not on disk. Send it again when the service is back, with the same commandId where it has one."
})

const checkFiles = (prompt: Prompt.Prompt, limitBytes: number): Effect.Effect<void, Problem.FileTooLarge> => {
  if (typeof prompt === "string") return Effect.void
  for (const [index, part] of prompt.entries()) {
    if (part.type !== "file" || !("data" in part)) continue
    const sizeBytes = FilePart.sizeOf(part)
    if (sizeBytes <= limitBytes) continue
    const at = `prompt[${index}]`
    const detail =
      `${at}, ${FilePart.placeholderOf(part)}, has ${sizeBytes} bytes. A file may have ${limitBytes} bytes at most ` +
      "(server.maxFileBytes)."
    return Effect.fail(new Problem.FileTooLarge({ part: at, sizeBytes, limitBytes, detail }))
  }
  return Effect.void
}
