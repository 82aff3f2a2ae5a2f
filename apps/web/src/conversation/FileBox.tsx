/** A file of a prompt or of the model: an image with its bytes is shown, other bytes can be saved. No address is loaded. */
import type { FilePart } from "@holdfast/wire"

/** A file, in a box of its own. */
export const FileBox = ({ file, of = "the prompt" }: { readonly file: FilePart.FilePart; readonly of?: string }) => {
  const name = file.name ?? file.mediaType
  if (!("data" in file)) return <p className="image-box">File “{name}” at an address, not loaded</p>
  // SVG is left out: a picture of another kind cannot have text that looks like the page.
  const address = `data:${file.mediaType};base64,${file.data}`
  return SHOWN.has(file.mediaType) ? (
    <img className="prompt-image" src={address} alt={`Image of ${of}: ${name}`} />
  ) : (
    <p className="image-box">
      <a href={address} download={file.name ?? "file"}>
        File “{name}”, {Math.ceil((file.data.length * 3) / 4_000)} kB
      </a>
    </p>
  )
}

// --- internal

const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])
