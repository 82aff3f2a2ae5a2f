/** What the handlers of commands share: limits before a turn, the origin of a command, and the end of the service before its effect is on disk. */
import { Problem } from "@holdfast/wire/api"
import { Context, Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { ShuttingDown } from "../engine/conversation/Conversations.ts"
import { Drain } from "../base/system/Drain.ts"
import { FilePart, type Prompt } from "@holdfast/wire"
import { DEFAULTS } from "../config/reading/Settings.ts"

/** The gates of a group of handlers. */
export interface StartGates {
  readonly drain: Drain["Service"]
  /** Fails what would begin a turn while the service goes down. */
  readonly unlessGoingDown: Effect.Effect<void, ShuttingDown>
  /** Fails a command whose answer would come after the end of the service. */
  readonly unlessDown: <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Problem.ShuttingDown, R>
  /** Fails if a file of the prompt is above the limit. */
  readonly checkFiles: (prompt: Prompt.Prompt) => Effect.Effect<void, Problem.FileTooLarge>
}

/** The gates of this service. */
export const gates: Effect.Effect<StartGates, never, Drain> = Effect.gen(function* () {
  const drain = yield* Drain
  const mostFileBytes = yield* FileLimit
  return {
    drain,
    unlessGoingDown: Effect.flatMap(drain.hasBegun, (hasBegun) => (hasBegun ? new ShuttingDown() : Effect.void)),
    unlessDown: (call) => Effect.raceFirst(call, Effect.andThen(drain.ended, Effect.fail(goingDown))),
    checkFiles: (prompt) => checkFiles(prompt, mostFileBytes)
  }
})

/** The origin in the record of a command (X4). */
export const originOf = (request: HttpServerRequest.HttpServerRequest): string => `HTTP from ${addressOf(request)}`

/** The address of a client. */
export const addressOf = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.getOrElse(request.remoteAddress, () => "an unknown address")

/** The most bytes of a file in a prompt. */
export const FileLimit = Context.Reference<number>("@holdfast/session-orchestrator/http/FileLimit", {
  defaultValue: () => DEFAULTS.server.maxFileBytes
})

// --- internal

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
