/** Finds the media type of a file, by its first bytes or else by its name, and the ending of a type. Plain functions. */
import { Option } from "effect"
import { Mime } from "effect/http"
import { isUtf8 } from "node:buffer"

/** Endings that the platform's table lacks, or has others before. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ["mp3", "audio/mpeg"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
  ["mov", "video/quicktime"],
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"]
])

/** Types by their first bytes, as Latin-1: a screenshot may have any name. */
const BY_START: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\x89PNG\r\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF.{4}WEBP/s, "image/webp"],
  [/^RIFF.{4}WAVE/s, "audio/wav"],
  [/^%PDF-/, "application/pdf"],
  [/^ID3/, "audio/mpeg"]
]

/** The type by the ending of a name or path; `undefined`: it is not known. */
export const byName = (name: string): string | undefined =>
  ENDINGS.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? "") ?? Option.getOrUndefined(Mime.getType(name))

/** The ending of names of a type; `undefined`: it is not known. */
export const endingOf = (mediaType: string): string | undefined =>
  Array.from(ENDINGS).find(([, known]) => known === mediaType)?.[0] ??
  Option.getOrUndefined(Mime.getExtension(mediaType))

/** The type of a file. Text is no other than text, whatever its ending stands for, and anything unknown is bytes. */
export const of = (name: string, bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1")
  const known = BY_START.find(([pattern]) => pattern.test(start))?.[1]
  if (known !== undefined) return known
  const named = byName(name)
  return isUtf8(bytes) && !bytes.includes(0)
    ? named !== undefined && TEXT.test(named)
      ? named
      : "text/plain"
    : (named ?? BYTES)
}

// --- internal

const BYTES = "application/octet-stream"

/** The endings of program texts are those of films and schedules elsewhere. */
const TEXT = /^(?:text\/.*|image\/svg\+xml|application\/(?:json|xml))$/
