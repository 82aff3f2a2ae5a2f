/**
 * Reads the input of commands that send a prompt: the prompt, its files (`--attach`), and the system prompt of a new conversation.
 *
 * A mistake is refused before the model is called or the disk is written, with exit code 2: also a file that cannot be read, or is above
 * `server.maxFileBytes`.
 */
import { defined, FilePart, type Prompt, Text } from "@holdfast/wire"
import { Effect, FileSystem, Option, Schema, Stdio, Stream } from "effect"
import { Argument } from "effect/cli"
import * as path from "node:path"
import { whyOf } from "../base/system/PlatformFailure.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as MediaTypes from "./MediaTypes.ts"

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

/** `--attach`, which may be repeated. */
export const attach = Declaration.texts(
  "attach",
  "FILE",
  "Image, PDF or other file to send with the prompt, or its https address; may be repeated"
)

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

/** The prompt with its files in their order; without files its text alone. An https address is sent as it is: the provider reads it. */
export const addFiles = Effect.fnUntraced(function* (
  text: string,
  files: ReadonlyArray<string>,
  { maxFileBytes }: { readonly maxFileBytes: number }
): Effect.fn.Return<Prompt.Prompt, Refused, FileSystem.FileSystem> {
  if (files.length === 0) return text
  const parts = yield* Effect.forEach(files, (file) => readPart(file, maxFileBytes))
  return [{ type: "text", text }, ...parts]
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

const decodePart = Schema.decodeUnknownEffect(FilePart.FileInput)

const readPart = Effect.fnUntraced(function* (file: string, maxFileBytes: number) {
  const refused = (why: string) => Refused.usage(`--attach ${file}: ${why}.`)
  const part = /^https?:/i.test(file)
    ? { type: "file", url: file, ...defined({ mediaType: MediaTypes.byName(URL.parse(file)?.pathname ?? "") }) }
    : yield* readBytes(file, maxFileBytes).pipe(Effect.mapError(refused))
  return yield* Effect.mapError(decodePart(part), ({ message }) =>
    "mediaType" in part ? refused(message) : refused("its name has no ending that gives its type, such as .png or .pdf")
  )
})

const readBytes = Effect.fnUntraced(function* (file: string, maxFileBytes: number) {
  const files = yield* FileSystem.FileSystem
  const size = yield* Effect.mapError(files.stat(file), whyOf)
  if (Number(size.size) > maxFileBytes) return yield* Effect.fail(tooLarge(Number(size.size), maxFileBytes))
  const bytes = yield* Effect.mapError(files.readFile(file), whyOf)
  if (bytes.length > maxFileBytes) return yield* Effect.fail(tooLarge(bytes.length, maxFileBytes)) // it grew, or is a pipe
  if (bytes.length === 0) return yield* Effect.fail("it is empty")
  return {
    type: "file",
    mediaType: MediaTypes.of(file, bytes),
    data: Buffer.from(bytes).toString("base64"),
    name: path.basename(file)
  }
})

const tooLarge = (bytes: number, limit: number): string =>
  `it has ${bytes} bytes; a file may have ${limit} bytes at most (server.maxFileBytes)`
