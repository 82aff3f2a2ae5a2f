/** A file of a prompt: an image with its bytes is shown, everything else is a placeholder. No address is loaded. */
import type { FilePart } from "@holdfast/wire"
import * as Sizes from "../text/Sizes.ts"

/** A file, in a box of its own. */
export const FileBox = ({ file }: { readonly file: FilePart.FilePart }) => {
  const name = file.name ?? file.mediaType
  if (!("data" in file)) return <p className="image-box">File “{name}” at an address, not loaded</p>
  // SVG is left out: a picture of another kind cannot have text that looks like the page.
  const size = Sizes.bytes(sizeOf(file.data))
  return isShown(file.mediaType) ? (
    <figure className="prompt-figure">
      <img
        className="prompt-image"
        src={`data:${file.mediaType};base64,${file.data}`}
        alt={`Image of the prompt: ${name}`}
      />
      <figcaption>
        {name} · {size}
      </figcaption>
    </figure>
  ) : (
    <p className="image-box">
      File “{name}” · {size}
    </p>
  )
}

/** Whether pictures of a type are shown. */
export const isShown = (mediaType: string): boolean => SHOWN.has(mediaType)

// --- internal

const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])

const sizeOf = (base64: string): number =>
  (base64.length / 4) * 3 - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0)
