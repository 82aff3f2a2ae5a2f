/** What a person sees where the page itself has failed: the error, and a way on. The service and its turns are not touched. */
import { Component, type ReactNode } from "react"

interface State {
  readonly error: Error | undefined
}

/** Shows its children, or the error that they failed with. */
export class ErrorScreen extends Component<{ readonly children: ReactNode }, State> {
  override readonly state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <main className="alone">
        <h1>The page has failed</h1>
        <p>Turns run on without it.</p>
        <p className="verbatim error-text">{error.message}</p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Load it again
        </button>
      </main>
    )
  }
}
