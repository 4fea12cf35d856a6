// needs: react styled-components react-toastify
import React from 'react'
import styled from 'styled-components'
import './App.css'; import logo from './logo.svg'; import 'react-toastify/dist/ReactToastify.css'
export default function App() { return (<p>Don't `stop` {/* require('no') */} it's "fine" <a href="x">import y from 'z'</a></p>) }
