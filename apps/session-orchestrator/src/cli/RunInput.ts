/**
 * Reads the input of commands that send a prompt: the prompt, and the system prompt of a new conversation.
 *
 * A mistake is refused before the model is called or the disk is written, with exit code 2.
 */
import { Text } from "@holdfast/wire"
import { Effect, FileSystem, Option, Stdio, Stream } from "effect"
import { Argument } from "effect/cli"
import { whyOf } from "../base/system/PlatformFailure.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"

/** The prompt of a command that sends one. */
export const prompt = Argument.optional(
  Declaration.argument("prompt", "What to ask; - or nothing reads it from standard input")
).pipe(Argument.map(Option.getOrUndefined))

/** The flags of the system prompt of a new conversation. */
export const system = {
  system: Declaration.text("system", "TEXT", "System prompt of the new conversation"),
  systemFile: Declaration.text("system-file", "FILE", "File with the system prompt")
}

/** The flags that a conversation is opened with. */
export const opening = {
  model: Declaration.model("Model to ask instead of the configured one"),
  profile: Declaration.profile("Retry profile instead of the configured one"),
  ...system
}

/** The text on standard input. */
export const stdin = Effect.flatMap(Stdio.Stdio, ({ stdin }) => Stream.mkString(Stream.decodeText(stdin)))

/** The prompt from the command line, or else from standard input without its last line break. */
export const readPrompt = Effect.fnUntraced(function* (argument: string | undefined, command = "run") {
  const stdio = yield* Stdio.Stdio
  if (argument === undefined && (yield* stdio.stdinIsTerminal)) {
    return yield* Refused.usage(`There is no prompt. Give one, as in: holdfast ${command} "Why is the sky blue?"`)
  }
  const prompt = argument === undefined || argument === "-" ? withoutLastBreak(yield* stdin) : argument
  return yield* textOf("The prompt", prompt)
})

/** The system prompt, from its flag or from the file that the other one names. */
export const readSystem = Effect.fnUntraced(function* (given: Declaration.Given<typeof system>) {
  const { system, systemFile } = given
  if (system !== undefined && systemFile !== undefined) {
    return yield* Refused.usage("--system and --system-file both give the system prompt. Give one of them.")
  }
  if (system !== undefined) return yield* textOf("--system", system)
  if (systemFile === undefined) return undefined
  const content = yield* readFile("--system-file", systemFile)
  return yield* textOf(`--system-file ${systemFile}`, withoutLastBreak(content))
})

/** The text of a file that a flag names. */
export const readFile = (flag: string, file: string) =>
  Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(file)).pipe(
    Effect.mapError((error) => Refused.usage(`${flag} ${file}: ${whyOf(error)}.`))
  )

// --- internal

const withoutLastBreak = (text: string): string => text.replace(/\r?\n$/, "")

const textOf = Effect.fnUntraced(function* (what: string, text: string) {
  if (text.trim() === "")
    return yield* Refused.usage(
      what === "The prompt"
        ? "The prompt is empty; expected its text as an argument or on standard input."
        : `${what}: it is empty.`
    )
  const nul = Text.findNul(text)
  return nul === undefined ? text : yield* Refused.usage(`${what}: ${nul.message}.`)
})
