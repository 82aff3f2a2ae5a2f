/**
 * Reads the input of `holdfast run`: prompt, system prompt, turn and conversation.
 *
 * A mistake is refused before the model is called or the disk is written, with exit code 2.
 */
import { RetrySettings } from "@holdfast/policy"
import { Ids, Text } from "@holdfast/wire"
import { Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Flag } from "effect/cli"
import { Refused } from "./Ended.ts"
import * as ExitCode from "./ExitCode.ts"

/** The flags for the turn, its conversation and its system prompt. */
export const flags = {
  model: Flag.String("model").pipe(
    Flag.withAlias("m"),
    Flag.withMetavar("PROVIDER/MODEL"),
    Flag.withDescription("Model to ask instead of the configured one"),
    Flag.optional
  ),
  profile: Flag.Literals("profile", RetrySettings.ProfileName.literals).pipe(
    Flag.withDescription("Retry profile instead of the configured one"),
    Flag.optional
  ),
  system: Flag.String("system").pipe(
    Flag.withMetavar("TEXT"),
    Flag.withDescription("System prompt of the new conversation"),
    Flag.optional
  ),
  systemFile: Flag.String("system-file").pipe(
    Flag.withMetavar("FILE"),
    Flag.withDescription("File with the system prompt"),
    Flag.optional
  ),
  conversation: Flag.String("conversation").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("Conversation of the database to continue"),
    Flag.optional
  ),
  turnId: Flag.String("turn-id").pipe(
    Flag.withMetavar("ID"),
    Flag.withDescription("The turn's id: the same id again is the same turn"),
    Flag.optional
  )
}

/** The flags as the person wrote them. */
interface GivenFlags {
  readonly system: Option.Option<string>
  readonly systemFile: Option.Option<string>
  readonly conversation: Option.Option<string>
  readonly turnId: Option.Option<string>
}

/** The checked flags. */
interface TurnOptions {
  readonly system: string | undefined
  readonly conversationId: Ids.ConversationId | undefined
  readonly turnId: Ids.TurnId | undefined
}

/**
 * Checks the flags and reads the file of `--system-file`.
 *
 * @param isOfRunners whether the conversations belong to runners, and none of them is named
 */
export const readOptions = Effect.fnUntraced(function* (given: GivenFlags, isOfRunners: boolean) {
  const conversationId = yield* idOf("--conversation", given.conversation)
  const turnId = yield* idOf("--turn-id", given.turnId)
  if (isOfRunners && (conversationId ?? turnId) !== undefined) {
    return yield* refused(
      `${conversationId === undefined ? "--turn-id" : "--conversation"}: with database.url the conversations belong to the runners, and this process has none of them. Send the prompt to a runner: POST /v1/conversations/ID/turns.`
    )
  }
  const options: TurnOptions = {
    system: yield* readSystem(given),
    conversationId: conversationId === undefined ? undefined : Ids.ConversationId.make(conversationId),
    turnId: turnId === undefined ? undefined : Ids.TurnId.make(turnId)
  }
  return options
})

/** The prompt from the command line, or else from standard input without its last line break. */
export const readPrompt = Effect.fnUntraced(function* (argument: string | undefined, command = "run") {
  const stdio = yield* Stdio.Stdio
  if (argument === undefined && (yield* stdio.stdinIsTerminal)) {
    return yield* refused(`There is no prompt. Give one, as in: holdfast ${command} "Why is the sky blue?"`)
  }
  const prompt =
    argument === undefined || argument === "-"
      ? withoutLastBreak(yield* Stream.mkString(Stream.decodeText(stdio.stdin)))
      : argument
  return yield* textOf("The prompt", prompt)
})

/** The system prompt, from its flag or from the file that the other one names. */
export const readSystem = Effect.fnUntraced(function* ({
  system,
  systemFile
}: Pick<GivenFlags, "system" | "systemFile">) {
  if (Option.isSome(system) && Option.isSome(systemFile)) {
    return yield* refused("--system and --system-file both give the system prompt. Give one of them.")
  }
  if (Option.isSome(system)) return yield* textOf("--system", system.value)
  if (Option.isNone(systemFile)) return undefined
  const file = systemFile.value
  const content = yield* Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(file)).pipe(
    Effect.mapError(({ reason }) => {
      const why = reason._tag === "NotFound" ? "there is no such file" : `it cannot be read (${reason._tag})`
      return new Refused({ message: `--system-file ${file}: ${why}.`, exitCode: ExitCode.USAGE })
    })
  )
  return yield* textOf(`--system-file ${file}`, withoutLastBreak(content))
})

/** An id as a flag gives it. */
export const idOf = (flag: string, given: Option.Option<string>): Effect.Effect<string | undefined, Refused> => {
  const id = Option.getOrUndefined(given)
  return id === undefined || Ids.ID_PATTERN.test(id)
    ? Effect.succeed(id)
    : refused(`${flag}: found ${JSON.stringify(id)}; expected 1 to 64 letters, digits, "_" or "-".`)
}

// --- internal

const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "")

const textOf = Effect.fnUntraced(function* (what: string, text: string) {
  if (text.trim() === "")
    return yield* refused(
      what === "The prompt"
        ? "The prompt is empty; expected its text as an argument or on standard input."
        : `${what}: it is empty.`
    )
  const nul = Text.findNul(text)
  return nul === undefined ? text : yield* refused(`${what}: ${nul.message}.`)
})

const refused = (message: string) => Effect.fail(new Refused({ message, exitCode: ExitCode.USAGE }))
