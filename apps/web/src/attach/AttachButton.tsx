/** Opens the browser's choice of files. */
import { useRef } from "react"
import * as Actions from "../palette/Actions.ts"
import * as Service from "../service/Service.ts"
import * as Sizes from "../text/Sizes.ts"

/** The button; its title has the limit, so that a person reads it before they choose. */
export const AttachButton = ({ onAdd }: { readonly onAdd: (files: Iterable<File>) => void }) => {
  const chooser = useRef<HTMLInputElement>(null)
  const choose = (): void => chooser.current?.click()
  Actions.useActions("This conversation", [{ name: "Attach files …", words: "image upload", run: choose }])
  return (
    <>
      <button
        type="button"
        className="attach-button"
        aria-label="Attach files"
        title={`Attach files: ${Sizes.bytes(Service.limits().fileBytes)} each at most. You can also paste or drop them.`}
        onClick={choose}
      >
        <span aria-hidden="true">+</span>
      </button>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={({ target }) => {
          onAdd(target.files ?? [])
          // The same file can be chosen again.
          target.value = ""
        }}
      />
    </>
  )
}
