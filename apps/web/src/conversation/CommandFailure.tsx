/** Why a command was refused or not sent, beside its buttons. */

/** The sentence; nothing without a failure. */
export const CommandFailure = ({ failure }: { readonly failure: string | undefined }) =>
  failure === undefined ? null : (
    <p className="error-text" role="alert">
      {failure}
    </p>
  )
