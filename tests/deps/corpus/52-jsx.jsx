// needs: react react-dom
import React, { useState } from "react";
import { createRoot } from "react-dom/client";

function App() {
	const [n, set] = useState(0);
	return <button onClick={() => set(n + 1)}>It is {n}</button>;
}
createRoot(document.body).render(<App />);
