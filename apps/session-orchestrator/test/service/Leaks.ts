/**
 * Finds remains of a secret in text or in the bytes of a file.
 *
 * It decodes encodings, where redaction encodes secrets in advance: so the two cannot share a blind spot.
 */

/** Shorter pieces occur by chance. */
const PIECE = 8

/** Distance of the pieces that are searched: remains of `PIECE + STRIDE - 1` characters or more are found. */
const STRIDE = 4

/** The secrets with a piece in the text: as it is, percent-encoded, escaped for JSON, or inside base64. */
export const find = (text: string, secrets: ReadonlyArray<string>): ReadonlyArray<string> => {
  const views = [text, unescaped(text), percentDecoded(text), ...base64Decoded(text)]
  return secrets.filter((secret) => piecesOf(secret).some((piece) => views.some((view) => view.includes(piece))))
}

/** A secret in every form in which a provider might quote it. */
export const everyForm = (secret: string): ReadonlyArray<string> => [
  secret,
  encodeURIComponent(secret),
  new URLSearchParams({ secret }).toString(),
  Array.from(secret, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  ...["", "Bearer ", "user:"].flatMap((before) => [
    Buffer.from(before + secret).toString("base64"),
    Buffer.from(before + secret).toString("base64url")
  ])
]

// --- internal

const piecesOf = (secret: string): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil((secret.length - PIECE + 1) / STRIDE) }, (_, nth) =>
    secret.slice(nth * STRIDE, nth * STRIDE + PIECE)
  )

const unescaped = (text: string): string =>
  text
    .replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\(["\\/])/g, "$1")

const percentDecoded = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/** Every decoding of each run of the alphabet, for the four positions at which a group may begin. */
const base64Decoded = (text: string): ReadonlyArray<string> =>
  [0, 1, 2, 3].map((offset) =>
    Array.from(text.matchAll(/[A-Za-z0-9+/_-]{12,}/g), ([run]) =>
      Buffer.from(run.slice(offset), "base64").toString("latin1")
    ).join("\n")
  )
