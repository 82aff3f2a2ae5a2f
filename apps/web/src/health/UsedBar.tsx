/** How much of something is used or has passed, as a bar. */

interface UsedBarProps {
  /** From 0 to 1. */
  readonly share: number
  readonly label: string
  /** The value in words, for screen readers. */
  readonly words: string
  readonly kind: "passed" | "used"
}

const WIDTH = 100

/** The bar. */
export const UsedBar = ({ kind, label, share, words }: UsedBarProps) => (
  <div
    className={`used-bar ${kind}${kind === "used" && share >= 1 ? " full" : ""}`}
    role="meter"
    aria-label={label}
    aria-valuemin={0}
    aria-valuemax={WIDTH}
    aria-valuenow={Math.round(share * WIDTH)}
    aria-valuetext={words}
  >
    <svg viewBox={`0 0 ${WIDTH} 1`} preserveAspectRatio="none" aria-hidden="true">
      <rect width={share * WIDTH} height="1" />
    </svg>
  </div>
)
