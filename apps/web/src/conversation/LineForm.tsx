/** A form of one line: a label, a field, and the button that takes the value. */
import { type ComponentProps, type ReactNode, useId } from "react"

interface LineFormProps {
  readonly label: string
  /** The label is read out, and not shown. */
  readonly isLabelHidden?: boolean
  /** The words of its button. */
  readonly submit: string
  /** What the field has besides its id and its name. It has the focus at first. */
  readonly field: ComponentProps<"input">
  /** Called with a value that is not empty, without the space around it. */
  readonly onGiven: (value: string) => void
  /** Called when the form is left without a value. */
  readonly onLeft: () => void
  /** Beside the field: its suggestions. */
  readonly children?: ReactNode
}

/** The form. Esc leaves it; an empty field, too, unless it is required. */
export const LineForm = ({ children, field, isLabelHidden = false, label, onGiven, onLeft, submit }: LineFormProps) => {
  const id = useId()
  return (
    <form
      className="choices"
      onSubmit={(event) => {
        event.preventDefault()
        const value = new FormData(event.currentTarget).get("value")
        if (typeof value === "string" && value.trim() !== "") onGiven(value.trim())
        else onLeft()
      }}
      onKeyDown={({ key }) => {
        if (key === "Escape") onLeft()
      }}
    >
      <label htmlFor={id} className={isLabelHidden ? "hidden" : undefined}>
        {label}
      </label>
      <input {...field} id={id} name="value" autoFocus />
      {children}
      <button type="submit">{submit}</button>
    </form>
  )
}
