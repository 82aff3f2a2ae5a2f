/** Reads files as frameworks have them. */
import * as Base64 from "effect/encoding/Base64"
import { defined } from "@holdfast/wire"
import type { FilePart } from "../Events.ts"

/** A file, from its bytes, its base64, its `data:` address or another address. A message has its type in lower case and without parameters. */
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
  const base64 = /^data:[^,]*;base64,(.*)$/s.exec(text)?.[1]
  if (base64 !== undefined) return { ...described, data: base64 }
  return text.includes(":") ? { ...described, url: text } : { ...described, data: text } // base64 has no colon
}
