/**
 * Reads the files of `--attach` into a prompt: its text, then the files in their order.
 *
 * A file that cannot be read, or is above `server.maxFileBytes`, is refused before the model is called. An https address is sent as it
 * is: the provider reads it.
 */
import { FilePart, type Prompt } from "@holdfast/wire"
import { Effect, FileSystem, Schema } from "effect"
import * as path from "node:path"
import { whyOf } from "../base/system/PlatformFailure.ts"
import * as Declaration from "./Declaration.ts"
import { Refused } from "./Ended.ts"
import * as MediaTypes from "./MediaTypes.ts"

/** The flag, which may be repeated. */
export const flag = Declaration.texts(
  "attach",
  "FILE",
  "Image, PDF or other file to send with the prompt, or its https address; may be repeated"
)

/** The prompt with its files; without files its text alone. */
export const add = Effect.fnUntraced(function* (
  text: string,
  files: ReadonlyArray<string>,
  { maxFileBytes }: { readonly maxFileBytes: number }
): Effect.fn.Return<Prompt.Prompt, Refused, FileSystem.FileSystem> {
  if (files.length === 0) return text
  const parts = yield* Effect.forEach(files, (file) => read(file, maxFileBytes))
  return [{ type: "text", text }, ...parts]
})

// --- internal

const decode = Schema.decodeUnknownEffect(FilePart.FileInput)

const read = Effect.fnUntraced(function* (file: string, maxFileBytes: number) {
  const refused = (why: string) => Refused.usage(`--attach ${file}: ${why}.`)
  const part = /^https?:/i.test(file)
    ? { type: "file", url: file, ...typeOf(file) }
    : yield* readBytes(file, maxFileBytes).pipe(Effect.mapError(refused))
  return yield* Effect.mapError(decode(part), ({ message }) =>
    "mediaType" in part ? refused(message) : refused("its name has no ending that gives its type, such as .png or .pdf")
  )
})

/** The type by the path of an address. */
const typeOf = (address: string): { readonly mediaType?: string } => {
  const mediaType = MediaTypes.byName(URL.parse(address)?.pathname ?? "")
  return mediaType === undefined ? {} : { mediaType }
}

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
