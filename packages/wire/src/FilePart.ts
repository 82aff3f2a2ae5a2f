/**
 * Schema of a file in a prompt, a tool's result or a model's response: an image, a PDF, sound, or any other.
 *
 * The bytes are in the part, as base64, or at an https address that the provider reads. Holdfast reads no address. Where a message is
 * shown as text, a file is its placeholder; its bytes are never shown.
 */
import * as Schema from "effect/Schema"
import { isShort } from "./values/Checks.ts"
import * as Count from "./values/Count.ts"

/** A type and a subtype (RFC 6838); `image/*` where an address does not give the subtype. */
const MEDIA_TYPE = "^[a-z]+/(?:[a-z0-9][a-z0-9.+_-]*|\\*)$"

const MediaType = Schema.String.check(
  Schema.isPattern(new RegExp(MEDIA_TYPE, "u"), {
    message: 'expected a media type in lower case, without parameters, such as "image/png"'
  })
)

/** Base64 with its padding (RFC 4648, section 4). The check runs in one pass: a pattern for the whole text would overflow the stack. */
const Base64 = Schema.String.check(
  Schema.makeFilter(
    (text) =>
      isBase64(text) ||
      "expected the file's bytes as base64: letters, digits, + and /, padded with = to a multiple of 4 characters",
    {
      toJsonSchema: () => ({ contentEncoding: "base64", minLength: 4 }),
      arbitraryConstraint: { patterns: [{ source: "^(?:[A-Za-z0-9+/]{4}){1,8}(?:[A-Za-z0-9+/]{2}==)?$", flags: "" }] }
    }
  )
)

/** Longer addresses are not links that a provider reads. */
const MOST_URL = 8_192

/** The host is in group 1. A user or a password in an address would be a secret in every list. */
const HTTPS_URL = /^https:\/\/([A-Za-z0-9.:[\]-]+)(?:[/?#]\S*)?$/u

const HttpsUrl = Schema.String.check(
  Schema.isPattern(HTTPS_URL, { message: "expected an https address without a user or blanks" }),
  isShort(MOST_URL, `expected ${MOST_URL} characters at most`)
)

const NAME = "^[^\\u0000-\\u001f\\u007f/\\\\]{1,255}$"

const Name = Schema.String.check(
  Schema.isPattern(new RegExp(NAME, "u"), {
    message: "expected a file's name: 1 to 255 characters, without /, \\ or control characters"
  })
)

const described = {
  type: Schema.tag("file"),
  /** Such as `image/png` or `application/pdf`. */
  mediaType: MediaType,
  /** The file's name, without folders. */
  name: Schema.optionalKey(Name)
}

/** A file with its bytes. */
export const FileBytes = Schema.Struct({ ...described, data: Base64 })
export type FileBytes = typeof FileBytes.Type

/** A file at an address that the provider reads when the model is called. */
export const FileLink = Schema.Struct({ ...described, url: HttpsUrl })
export type FileLink = typeof FileLink.Type

/** A file: its bytes as base64 (`data`), or its https address (`url`). */
export const FilePart = Schema.Union([FileBytes, FileLink])
export type FilePart = FileBytes | FileLink

/** The provider's data that must go back with a file of its model, as the adapter wrote it. */
const proof = Schema.optionalKey(Schema.String)

/** A file that a model returned. */
export const ModelFile = Schema.Union([
  Schema.Struct({ ...FileBytes.fields, proof }),
  Schema.Struct({ ...FileLink.fields, proof })
])
export type ModelFile = typeof ModelFile.Type

/** The same as clients send it: one error for each mistake, where a union reports those of each form. */
export const FileInput = Schema.Struct({
  ...described,
  data: Schema.optionalKey(Base64),
  url: Schema.optionalKey(HttpsUrl)
})
  .check(
    Schema.makeFilter(
      ({ data, url }) => (data === undefined) !== (url === undefined) || "expected data or url, and one of them only",
      { toJsonSchema: () => ({ oneOf: [{ required: ["data"] }, { required: ["url"] }] }) }
    )
  )
  .pipe(Schema.refine((_part): _part is FilePart => true))
  .annotate({
    description: "A file: `data` has its bytes as base64, or `url` its https address, which the provider reads.",
    examples: [{ type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", name: "chart.png" }]
  })

/** What a file is, by its media type. */
export type FileKind = "image" | "audio" | "video" | "pdf" | "text" | "file"

/** What a file is. */
export const kindOf = ({ mediaType }: Pick<FilePart, "mediaType">): FileKind => {
  if (mediaType === "application/pdf") return "pdf"
  const type = mediaType.slice(0, mediaType.indexOf("/"))
  return type === "image" || type === "audio" || type === "video" || type === "text" ? type : "file"
}

/** The number of bytes of a file. */
export const sizeOf = ({ data }: FileBytes): number => data.length * 0.75 - paddingOf(data)

/** A file as text, such as `[image image/png 34 kB]`. An address is shown by its host alone, because the rest may be secret. */
export const placeholderOf = (part: FilePart): string => {
  const kind = kindOf(part)
  const where = "data" in part ? Count.ofBytes(sizeOf(part)) : `at ${HTTPS_URL.exec(part.url)?.[1] ?? "an address"}`
  const words = [kind === "pdf" || kind === "text" ? "file" : kind, part.mediaType, where, part.name]
  return `[${words.filter(Boolean).join(" ")}]`
}

// --- internal

const paddingOf = (base64: string): number => (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0)

const isBase64 = (text: string): boolean => {
  if (text === "" || text.length % 4 !== 0) return false
  const end = text.search(/[^A-Za-z0-9+/]/)
  return end === -1 || end === text.length - paddingOf(text)
}
