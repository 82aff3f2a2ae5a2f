/** A file of a prompt or of the model: an image with its bytes is shown, other bytes can be saved. No address is loaded. */
import { Count, type FilePart } from "@holdfast/wire"

/** A file, in a box of its own. */
export const FileBox = ({ file, of = "the prompt" }: { readonly file: FilePart.FilePart; readonly of?: string }) => {
  const name = file.name ?? file.mediaType
  if (!("data" in file)) return <p className="image-box">File “{name}” at an address, not loaded</p>
  const size = Count.ofBytes(sizeOf(file.data))
  const address = `data:${file.mediaType};base64,${file.data}`
  return isShown(file.mediaType) ? (
    <figure className="prompt-figure">
      <img className="prompt-image" src={address} alt={`Image of ${of}: ${name}`} />
      <figcaption>
        {name} · {size}
      </figcaption>
    </figure>
  ) : (
    <p className="image-box">
      <a href={address} download={file.name ?? "file"}>
        File “{name}”
      </a>{" "}
      · {size}
    </p>
  )
}

/** Whether pictures of a type are shown. */
export const isShown = (mediaType: string): boolean => SHOWN.has(mediaType)

// --- internal

/** SVG is left out: its text could look like the page. */
const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"])

const sizeOf = (base64: string): number =>
  (base64.length / 4) * 3 - (base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0)
