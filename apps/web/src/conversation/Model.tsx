/** The model of a conversation, which a person can change for the prompts from then on. */
import { useRef, useState } from "react"
import * as Actions from "../palette/Actions.ts"
import { ModelForm } from "./ModelForm.tsx"
import { CommandFailure } from "./CommandFailure.tsx"
import { useCommand } from "./useCommand.ts"

interface ModelProps {
  readonly conversationId: string
  readonly model: string
}

/** The model and its button. */
export const Model = ({ conversationId, model }: ModelProps) => {
  const [isEdited, setIsEdited] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const { failure, send } = useCommand(conversationId)
  Actions.useActions("This conversation", [
    { name: "Change model …", words: "target provider", run: () => setIsEdited(true) }
  ])
  const close = (): void => {
    setIsEdited(false)
    // The field that has the focus goes away.
    button.current?.focus()
  }
  return (
    <>
      <div className="model">
        <span className="quiet">{model}</span>{" "}
        <button
          ref={button}
          type="button"
          className="small"
          aria-expanded={isEdited}
          onClick={() => setIsEdited(!isEdited)}
        >
          Change model
        </button>
      </div>
      {isEdited && (
        <ModelForm
          label="Next prompts go to"
          submit="Change"
          onLeft={close}
          onChosen={(chosen) => {
            close()
            send((conversation) => conversation.setModel(chosen))
          }}
        />
      )}
      <CommandFailure failure={failure} />
    </>
  )
}
