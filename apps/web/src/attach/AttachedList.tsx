/** The files that go with the prompt, each with its size and a button that removes it. */
import { useEffect, useState } from "react"
import * as Sizes from "../text/Sizes.ts"
import { isShown } from "../conversation/FileBox.tsx"
import type { AttachedFiles } from "./useAttached.ts"
import "./attach.css"

interface AttachedListProps {
  readonly attached: Pick<AttachedFiles, "files" | "isDropping" | "problems">
  readonly onRemove: (file: File) => void
}

/** The files, and why others were not taken. */
export const AttachedList = ({ attached: { files, isDropping, problems }, onRemove }: AttachedListProps) => (
  <>
    {isDropping && <div className="drop-here">Drop the files to attach them</div>}
    {files.length > 0 && (
      <ul className="attached" aria-label="Attached files">
        {files.map((file, index) => (
          <li key={`${index} ${file.name}`}>
            {isShown(file.type) && <Thumbnail file={file} />}
            <span className="attached-name">{file.name}</span>
            <span className="quiet">{Sizes.bytes(file.size)}</span>
            <button type="button" className="small" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    )}
    {problems.length > 0 && (
      <div className="error-text" role="alert">
        {problems.map((problem, index) => (
          <p key={index}>Not attached: {problem}</p>
        ))}
      </div>
    )}
  </>
)

// --- internal

/** The page's policy allows images as data alone, so a picture is read once it is shown. */
const Thumbnail = ({ file }: { readonly file: File }) => {
  const [address, setAddress] = useState<string | undefined>(undefined)
  useEffect(() => {
    const reader = new FileReader()
    reader.addEventListener("load", () => setAddress(typeof reader.result === "string" ? reader.result : undefined))
    reader.readAsDataURL(file)
    return () => reader.abort()
  }, [file])
  return address === undefined ? null : <img src={address} alt="" />
}
