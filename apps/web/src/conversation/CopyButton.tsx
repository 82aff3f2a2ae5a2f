/** Copies a text to the clipboard. */
import { useState } from "react"

/** How long the button shows that it has copied. */
const SHOWN_MS = 1_500

/** A button that copies the text of its place in the page. */
export const CopyButton = ({ textOf }: { readonly textOf: (button: HTMLElement) => string }) => {
  const [isCopied, setIsCopied] = useState(false)
  // Pages that are not on this machine and without TLS have no clipboard.
  if (navigator.clipboard === undefined) return null
  return (
    <button
      type="button"
      className="small"
      onClick={({ currentTarget }) => {
        void navigator.clipboard.writeText(textOf(currentTarget)).then(() => {
          setIsCopied(true)
          setTimeout(() => setIsCopied(false), SHOWN_MS)
        })
      }}
    >
      {isCopied ? "Copied" : "Copy"}
    </button>
  )
}
