/** The shape of a state, beside its colour and its word. */
import type { Health } from "@holdfast/wire"

const SHAPES: { readonly [State in Health.EndpointState]: React.JSX.Element } = {
  failing: <path d="M8 1.5 15 14H1Z" />,
  paused: <path d="M3 2h4v12H3zM9 2h4v12H9z" />,
  recovering: <path d="M8 1a7 7 0 1 0 0 14V1Zm0 1.5V13.5A5.5 5.5 0 0 0 8 2.5Z" fillRule="evenodd" />,
  answering: <circle cx="8" cy="8" r="6.5" />,
  idle: <circle cx="8" cy="8" r="5.5" fill="none" stroke="currentColor" strokeWidth="2" />
}

/** A small picture without words of its own: the word stands beside it. */
export const StateShape = ({ state }: { readonly state: Health.EndpointState }) => (
  <svg viewBox="0 0 16 16" width="14" height="14" fill="currentColor" aria-hidden="true">
    {SHAPES[state]}
  </svg>
)
