/** The model's reasoning, folded. */
export const Reasoning = ({ isArriving = false, text }: { readonly text: string; readonly isArriving?: boolean }) => (
  <details className="tool">
    <summary>{isArriving ? "Reasoning …" : "Reasoning"}</summary>
    <p className="verbatim">{text}</p>
  </details>
)
