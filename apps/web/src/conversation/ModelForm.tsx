/** Asks for a `provider/model`. */
import { useId } from "react"
import { LineForm } from "./LineForm.tsx"
import { ModelList } from "./ModelList.tsx"

interface ModelFormProps {
  readonly label: string
  /** The words of its button. */
  readonly submit: string
  readonly onChosen: (model: string) => void
  readonly onLeft: () => void
}

/** One line for a model, with those of recent turns as suggestions. */
export const ModelForm = ({ label, onChosen, onLeft, submit }: ModelFormProps) => {
  const id = useId()
  return (
    <LineForm
      label={label}
      submit={submit}
      field={{ required: true, placeholder: "provider/model", autoComplete: "off", list: id }}
      onGiven={onChosen}
      onLeft={onLeft}
    >
      <ModelList id={id} />
    </LineForm>
  )
}
