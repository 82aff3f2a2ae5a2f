/** Asks for a `provider/model`. */
import { useId } from "react"
import { ModelList } from "./ModelList.tsx"

interface ModelFormProps {
  readonly label: string
  /** The words of its button. */
  readonly submit: string
  readonly onChosen: (model: string) => void
}

/** One line for a model, with those of recent turns as suggestions. */
export const ModelForm = ({ label, onChosen, submit }: ModelFormProps) => {
  const id = useId()
  return (
    <form
      className="choices"
      onSubmit={(event) => {
        event.preventDefault()
        const model = new FormData(event.currentTarget).get("model")
        if (typeof model === "string" && model.trim() !== "") onChosen(model.trim())
      }}
    >
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name="model"
        required
        placeholder="provider/model"
        list={`${id}-models`}
        autoFocus
        autoComplete="off"
      />
      <ModelList id={`${id}-models`} />
      <button type="submit">{submit}</button>
    </form>
  )
}
