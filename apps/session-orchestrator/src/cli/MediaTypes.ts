/** Finds the media type of a file, by its first bytes or else by its name, and the ending of a type. Plain functions over a short table. */

/** The types that providers take, by the endings of names. */
const BY_ENDING: ReadonlyMap<string, string> = new Map([
  ["png", "image/png"],
  ["jpg", "image/jpeg"],
  ["jpeg", "image/jpeg"],
  ["gif", "image/gif"],
  ["webp", "image/webp"],
  ["svg", "image/svg+xml"],
  ["bmp", "image/bmp"],
  ["tif", "image/tiff"],
  ["tiff", "image/tiff"],
  ["heic", "image/heic"],
  ["avif", "image/avif"],
  ["pdf", "application/pdf"],
  ["txt", "text/plain"],
  ["log", "text/plain"],
  ["md", "text/markdown"],
  ["csv", "text/csv"],
  ["html", "text/html"],
  ["json", "application/json"],
  ["xml", "application/xml"],
  ["wav", "audio/wav"],
  ["mp3", "audio/mpeg"],
  ["m4a", "audio/mp4"],
  ["ogg", "audio/ogg"],
  ["flac", "audio/flac"],
  ["mp4", "video/mp4"],
  ["webm", "video/webm"],
  ["mov", "video/quicktime"],
  ["zip", "application/zip"],
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

/** The type by the ending of a name or path; `undefined`: it is not in the table. */
export const byName = (name: string): string | undefined =>
  BY_ENDING.get(/\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? "")

/** The ending of names of a type; `undefined`: it is not in the table. */
export const endingOf = (mediaType: string): string | undefined =>
  Array.from(BY_ENDING).find(([, known]) => known === mediaType)?.[0]

/** The type of a file. Text without a known ending is plain text, anything else is bytes. */
export const of = (name: string, bytes: Uint8Array): string => {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("latin1")
  return BY_START.find(([pattern]) => pattern.test(start))?.[1] ?? byName(name) ?? byContent(bytes)
}

// --- internal

const byContent = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).includes("\0") ? BYTES : "text/plain"
  } catch {
    return BYTES
  }
}

const BYTES = "application/octet-stream"
