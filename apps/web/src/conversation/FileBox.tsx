/** A file of a prompt: an image with its bytes is shown, everything else is a placeholder. No address is loaded. */
import type { FilePart } from "@holdfast/wire"

/** A file, in a box of its own. */
export const FileBox = ({ file }: { readonly file: FilePart.FilePart }) => {
  const name = file.name ?? file.mediaType
  if (!("data" in file)) return <p className="image-box">File “{name}” at an address, not loaded</p>
  // SVG is left out: a picture of another kind cannot have text that looks like the page.
  return SHOWN.has(file.mediaType) ? (
    <img
      className="prompt-image"
      src={`data:${file.mediaType};base64,${file.data}`}
      alt={`Image of the prompt: ${name}`}
    />
  ) : (
    <p className="image-box">File “{name}”</p>
  )
}

// --- internal

const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])
