/** Reads files as frameworks have them. */
import * as Base64 from "effect/encoding/Base64"
import { defined } from "@holdfast/wire"
import type { FilePart } from "../Events.ts"

/** A file: its bytes, its base64, its `data:` address or an https address. A message has its type in lower case and without parameters. */
export const fileOf = (file: {
  readonly mediaType: string
  readonly data: string | Uint8Array | URL
  readonly name?: string | undefined
}): FilePart => {
  const { data, name } = file
  const mediaType = file.mediaType.replace(/;.*/s, "").trim().toLowerCase()
  const described = { type: "file" as const, mediaType, ...defined({ name }) }
  if (data instanceof Uint8Array) return { ...described, data: Base64.encode(data) }
  const text = String(data)
  if (text.startsWith("https:")) return { ...described, url: text }
  return { ...described, data: /^data:[^,]*;base64,(.*)$/s.exec(text)?.[1] ?? text }
}
