(set-logic QF_BV)
(declare-fun a () (_ BitVec 8))
(assert (not (= (bvadd a a) (bvshl a #x01))))
(check-sat)
